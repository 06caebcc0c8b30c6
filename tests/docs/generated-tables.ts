/**
 * Tables of the documentation that are made from the code. In a page each stands between `<!-- generated: <name> -->` and
 * `<!-- end -->`; `npx vitest run tests/docs --update` writes them.
 */
import { causes } from '../../core/errors.ts';
import { metricNames } from '../../core/metric-names.ts';
import { table } from './markdown-table.ts';
import { recipeTables } from './recipe-tables.ts';

export const generatedTables: Record<string, () => string> = {
  'exit codes': exitCodes,
  metrics,
  ...recipeTables,
};

function exitCodes(): string {
  const rows = Object.entries(causes).map(([name, { exitCode, retryable }]) => [
    String(exitCode),
    `\`${name}\``,
    meaningOfCause[name as keyof typeof causes],
    retryable ? 'yes' : 'no',
  ]);
  return table(
    ['code', 'cause', 'meaning', 'retried'],
    [
      ['0', '', 'success', ''],
      ['1', '', 'an error that was not foreseen; `doctor`: something is broken', ''],
      ...rows,
      ['130', '', 'left by Ctrl-C; a run that was under way is not lost', ''],
    ],
  );
}

const meaningOfCause: Record<keyof typeof causes, string> = {
  RecipeError: 'the recipe or an override of it is wrong',
  DataError: 'a data file is missing or broken, or a reward is not a finite number',
  ModelError: 'the model folder is missing, broken or of a kind that cannot be trained',
  PortError: 'a port is taken by another program',
  TemporalError: 'no Temporal server or no worker answers',
  StoreError: 'the store cannot be read or written',
  RunExistsError: 'the run id is in use, or a stack runs in the folder already',
  RunNotFoundError: 'no such run, or no such policy version',
  EngineError: 'the engine failed',
  EnvironmentError: 'an environment failed',
  StaleParentError: 'an update started from a policy that is not the committed one',
  CorruptArtifactError: 'stored bytes do not match their hash; `verify`: the audit found problems',
  SetupError: 'something needed is not there and could not be installed',
  FencedError: 'an attempt that was taken for dead wrote after another had taken over its work',
  WorkerShutdown: 'a worker that was told to end handed its work back',
  UsageError: 'the command line is wrong, or the run refuses the change',
};

function metrics(): string {
  const bySource = ['`reward/<kind>/mean`', 'reward', 'Mean of one reward of the recipe, unweighted'];
  const rows = Object.entries(metricNames).map(([name, { unit, meaning }]) => [`\`${name}\``, unit, meaning]);
  return table(['name', 'unit', 'meaning'], [...rows, bySource]);
}

/** A page's text with its generated tables made anew. Throws when it names a table that does not exist. */
export function withTables(text: string): string {
  return text.replace(/^<!-- generated: (.+) -->$[^]*?^<!-- end -->$/gm, (_, name: string) => {
    const make = generatedTables[name];
    if (make === undefined) throw new Error(`no generated table is named ${name}`);
    return `<!-- generated: ${name} -->\n\n${make()}\n\n<!-- end -->`;
  });
}
