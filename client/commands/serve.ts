import { Option } from 'commander';
import { toolCallFormats } from '../../gpu/serving/tool-calls/choose-format.ts';
import { serve, type ServeOptions, type Serving } from '../serving/serve.ts';
import { contextOf, withCommonOptions, type CommonOptions } from '../terminal/context.ts';
import { parseNumber } from '../terminal/parse-number.ts';
import type { Register } from './command.ts';

interface ServeCommandOptions extends CommonOptions {
  host: string;
  port: string;
  token?: string;
  name?: string;
  slots: string;
  threads?: string;
  contextLength: string;
  toolCalls: NonNullable<ServeOptions['toolCalls']>;
  maxWaiting: string;
  grace: string;
  follow?: string | true;
}

const followSeconds = 2;

/** `rekindle serve <run|folder>`: until Ctrl-C. */
export const registerServe: Register = (program, io) => {
  withCommonOptions(program.command('serve'))
    .description('serve a policy over HTTP, as SGLang and OpenAI do')
    .argument('<run[@version]|folder>')
    .option('--port <n>', '0 takes a free one', '30000')
    .option('--host <address>', 'any but a loopback address needs a token', '127.0.0.1')
    .option('--token <secret>', 'that every request must carry (REKINDLE_SERVE_TOKEN)')
    .option('--name <model>', 'what requests call it (default: the run, or the name of the folder)')
    .option('--slots <n>', 'sequences generated together', '8')
    .option('--threads <n>', 'of the engine (default: one a core)')
    .option('--context-length <n>', 'longest sequence in tokens, at most that of the model', '4096')
    .addOption(
      new Option('--tool-calls <format>', 'how the model writes them')
        .choices(['auto', 'none', ...Object.keys(toolCallFormats)])
        .default('auto', 'told from the chat template'),
    )
    .option('--max-waiting <n>', 'samples that may wait for their first token', '1024')
    .option('--grace <seconds>', 'for requests in flight when serving ends', '10')
    .option('--follow [seconds]', `go on to each newer version of the run (looks every ${followSeconds} s)`)
    .action(async (target: string, options: ServeCommandOptions) => {
      const { output, settings } = contextOf(io, options);
      const whole = (name: string, text: string, least: number): number =>
        parseNumber(name, text, { least, whole: true });
      const { follow, threads, host, toolCalls } = options;
      const token = options.token ?? io.env['REKINDLE_SERVE_TOKEN'];
      const announce = (serving: Serving): void =>
        output.result(
          serving,
          `${serving.model} (weights ${serving.weightVersion}, ${serving.contextLength} tokens) at ${serving.url}`,
        );
      const stop = new AbortController();
      const off = io.onInterrupt(() => {
        off();
        output.note('Ending: requests in flight have their time of grace. Ctrl-C again ends at once.');
        stop.abort();
      });
      try {
        await serve(
          settings.home,
          target,
          {
            host,
            toolCalls,
            port: parseNumber('--port', options.port, { least: 0, most: 65_535, whole: true }),
            slots: whole('--slots', options.slots, 1),
            contextLength: whole('--context-length', options.contextLength, 2),
            maxWaiting: whole('--max-waiting', options.maxWaiting, 1),
            graceSeconds: parseNumber('--grace', options.grace, { least: 0 }),
            ...(threads !== undefined && { threads: whole('--threads', threads, 1) }),
            ...(options.name !== undefined && { name: options.name }),
            ...(token !== undefined && { token }),
            ...(follow !== undefined && {
              follow: follow === true ? followSeconds : parseNumber('--follow', follow, { least: 0.1 }),
            }),
            tell: (message) => output.note(message),
          },
          announce,
          stop.signal,
        );
      } finally {
        off();
      }
    });
};
