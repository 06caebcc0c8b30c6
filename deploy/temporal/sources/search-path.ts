import { checkProgram, type Source } from '../source.ts';

/** A `temporal` on the PATH. */
export const searchPath: Source = {
  name: '`temporal` on the PATH',
  find({ env }) {
    return checkProgram('temporal', this.name, env);
  },
};
