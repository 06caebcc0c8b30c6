import { RekindleError } from '../../../core/errors.ts';
import { checkProgram, type Source } from '../source.ts';

/** The program that REKINDLE_TEMPORAL_BIN names. A setting that does not work is an error: nothing is tried in its place. */
export const explicitSetting: Source = {
  name: 'REKINDLE_TEMPORAL_BIN',
  async find({ env }) {
    const file = env.REKINDLE_TEMPORAL_BIN;
    if (!file) return { reason: 'not set' };
    const found = await checkProgram(file, this.name, env);
    if ('reason' in found) {
      throw new RekindleError('SetupError', `REKINDLE_TEMPORAL_BIN=${file}: ${found.reason}`, {
        hint: 'Set it to the path of a Temporal CLI, version 1.5 or newer, or unset it to have one found or downloaded.',
      });
    }
    return found;
  },
};
