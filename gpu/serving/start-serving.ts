/** Starts a server from plain data, which can be sent to the process of an engine. */
import type { Engine, WeightsSource } from '../engine-port.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import type { ModelFiles } from '../model/model-files.ts';
import { loadTokenizer } from '../tokenizer/index.ts';
import { ModelServer, type ServerSettings } from './model-server.ts';
import { detectToolCalls, toolCallFormats, type ToolCallFormatName } from './tool-calls/choose-format.ts';

export interface ServeRequest {
  /** What requests call the model. */
  name: string;
  /** Where it came from. */
  path: string;
  /** Files of the model folder other than weights. */
  files: ModelFiles;
  weights: { source: WeightsSource; version: string };
  /** `auto` tells it from the chat template. */
  toolCalls: ToolCallFormatName | 'auto' | 'none';
  settings: ServerSettings;
  /** How long requests in flight may go on when serving ends. */
  graceSeconds: number;
}

/** @throws RekindleError ModelError, or as `ModelServer.start` */
export async function startServing(
  engine: Engine,
  config: DecoderConfig,
  { name, path, files, weights, toolCalls, settings }: ServeRequest,
): Promise<ModelServer> {
  const tokenizer = loadTokenizer(files);
  const format = toolCalls === 'auto' ? detectToolCalls(tokenizer) : toolCalls;
  const model = {
    name,
    path,
    config,
    tokenizer,
    toolCalls: format === null || format === 'none' ? null : toolCallFormats[format],
  };
  return ModelServer.start(engine, model, weights, settings);
}
