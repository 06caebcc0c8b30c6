/** The engine's measurements, in the order in which they run, and what their figures must reach on two cores. */
import type { Bar } from '../bench-result.ts';
import type { Measurement } from '../figure.ts';
import { measureDecoding, measureLoading } from './measure-generation.ts';
import {
  measureCheckpointing,
  measureOptimizer,
  measureTraining,
  measureTrainingMemory,
} from './measure-training.ts';

export const bars: Record<string, Bar> = {
  train15M: { atLeast: 0.7 },
  train135M: { atLeast: 0.78 },
  memory135MGB: { atMost: 3.2 },
  memory135MCheckpointedGB: { atMost: 1.9 },
  checkpointedTimeRatio: { atMost: 1.3 },
  adamwNsPerParam: { atMost: 2 },
  decode15M: { atLeast: 0.65 },
  decode135M: { atLeast: 0.65 },
  jsShareDecode: { atMost: 0.05 },
  loadSeconds: { atMost: 5 },
};

export const measurements: Measurement[] = [
  {
    name: 'decoding, 15 M',
    figures: ['decode15M', 'jsShareDecode'],
    measure: (folder) => measureDecoding('decode15M', '15M', folder),
  },
  {
    name: 'decoding, 135 M',
    figures: ['decode135M', 'jsShareDecode'],
    measure: (folder) => measureDecoding('decode135M', '135M', folder),
  },
  {
    name: 'training, 15 M',
    figures: ['train15M'],
    measure: (folder) => measureTraining('train15M', '15M', folder),
  },
  {
    name: 'training, 135 M',
    figures: ['train135M'],
    measure: (folder) => measureTraining('train135M', '135M', folder),
  },
  {
    name: 'optimizer, 15 M',
    figures: ['adamwNsPerParam'],
    measure: (folder) => measureOptimizer('15M', folder),
  },
  {
    name: 'optimizer, 135 M',
    figures: ['adamwNsPerParam'],
    measure: (folder) => measureOptimizer('135M', folder),
  },
  {
    name: 'memory of training, 135 M',
    figures: ['memory135MGB'],
    measure: (folder) => measureTrainingMemory('memory135MGB', folder, false),
  },
  {
    name: 'memory of training with checkpointing, 135 M',
    figures: ['memory135MCheckpointedGB'],
    measure: (folder) => measureTrainingMemory('memory135MCheckpointedGB', folder, true),
  },
  {
    name: 'time of checkpointing, 135 M',
    figures: ['checkpointedTimeRatio'],
    measure: measureCheckpointing,
  },
  { name: 'loading, 135 M', figures: ['loadSeconds'], measure: measureLoading },
];
