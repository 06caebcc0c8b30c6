/** An engine of which each call goes through one function. */
import type { Engine } from './engine-port.ts';

export type EngineOp = keyof Engine;

/** `around` is given the name of each call and what makes it, of the engine that it chooses. */
export function aroundCalls(
  around: <T>(op: EngineOp, call: (engine: Engine) => Promise<T>) => Promise<T>,
): Engine {
  return {
    describe: () => around('describe', (engine) => engine.describe()),
    close: () => around('close', (engine) => engine.close()),
    load: (source, keep) => around('load', (engine) => engine.load(source, keep)),
    release: (parts) => around('release', (engine) => engine.release(parts)),
    generate: (...args) => around('generate', (engine) => engine.generate(...args)),
    score: (...args) => around('score', (engine) => engine.score(...args)),
    values: (...args) => around('values', (engine) => engine.values(...args)),
    beginUpdate: (...args) => around('beginUpdate', (engine) => engine.beginUpdate(...args)),
    forwardBackward: (...args) => around('forwardBackward', (engine) => engine.forwardBackward(...args)),
    optimizerStep: (settings) => around('optimizerStep', (engine) => engine.optimizerStep(settings)),
    save: (folder) => around('save', (engine) => engine.save(folder)),
  };
}
