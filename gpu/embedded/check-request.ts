/** Requests that no engine with this model can serve are refused before they begin. */
import { RekindleError } from '../../core/errors.ts';
import { smallestTemperature } from '../../core/steerable.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import type { GenerationRequest } from '../engine-port.ts';

/** @throws RekindleError EngineError that names the prompt and the numbers; the same request would fail again. */
export function checkRequest(config: DecoderConfig, request: GenerationRequest): void {
  const { vocabSize, maxPositions } = config;
  const { maxNewTokens, temperature } = request.sampling;
  const refused = (message: string, hint: string): RekindleError =>
    new RekindleError('EngineError', message, { hint, permanent: true });
  if (temperature !== 0 && !(temperature >= smallestTemperature && temperature < Infinity)) {
    throw refused(
      `the temperature is ${temperature}, expected 0 or at least ${smallestTemperature}`,
      'Take 0 for the most probable token.',
    );
  }
  if (request.sampling.stopStrings?.includes('')) {
    throw refused('a stop string is empty', 'Leave it out: every text would end with it.');
  }
  request.prompts.forEach(({ ids }, index) => {
    if (ids.length === 0) {
      throw refused(
        `prompt ${index} is empty, expected at least one token`,
        'Look at the task and at the prompt template.',
      );
    }
    if (ids.length + maxNewTokens > maxPositions) {
      throw refused(
        `prompt ${index} has ${ids.length} tokens; with ${maxNewTokens} new tokens that is more than the model's ${maxPositions} positions`,
        'Lower rollout.maxNewTokens, shorten the prompt, or use a model with more positions.',
      );
    }
    const wrong = ids.find((id) => !(Number.isInteger(id) && id >= 0 && id < vocabSize));
    if (wrong !== undefined) {
      throw refused(
        `prompt ${index} holds the token id ${wrong}, expected an integer from 0 to ${vocabSize - 1}`,
        'The tokenizer and the model do not belong together.',
      );
    }
  });
}
