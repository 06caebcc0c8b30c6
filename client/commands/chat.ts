import { createInterface } from 'node:readline/promises';
import { RekindleError } from '../../core/errors.ts';
import { Conversation } from '../chat/conversation.ts';
import { openPolicy, type Policy } from '../chat/open-policy.ts';
import { contextOf, withCommonOptions, type CommonOptions, type Context } from '../terminal/context.ts';
import { parseNumber } from '../terminal/parse-number.ts';
import type { Register } from './command.ts';

interface ChatOptions extends CommonOptions {
  prompt?: string;
  version?: string;
  temperature: string;
  maxTokens: string;
  seed: string;
}

/** `rekindle chat <run|folder>`: a prompt a line on a terminal, one prompt with --prompt. */
export const registerChat: Register = (program, io) => {
  withCommonOptions(program.command('chat'))
    .description('talk to the policy of a run, or to a model folder')
    .argument('<run|folder>')
    .option('--prompt <text>', 'answer this one prompt and end')
    .option('--version <n>', 'policy version (default: the newest)')
    .option('--temperature <t>', '0 takes the likeliest token each time', '0')
    .option('--max-tokens <n>', 'longest answer', '256')
    .option('--seed <n>', 'of the sampling', '0')
    .action(async (target: string, options: ChatOptions) => {
      const context = contextOf(io, options);
      const sampling = {
        temperature: parseNumber('--temperature', options.temperature, { least: 0 }),
        maxNewTokens: parseNumber('--max-tokens', options.maxTokens, { least: 1, whole: true }),
        seed: parseNumber('--seed', options.seed, { least: 0, whole: true }),
      };
      const version =
        options.version === undefined
          ? undefined
          : parseNumber('--version', options.version, { least: 0, whole: true });
      if (options.prompt === undefined && !io.interactive) {
        throw new RekindleError('UsageError', 'chat needs a terminal, or a prompt given with --prompt');
      }
      const policy = await openPolicy(context.settings.home, target, version);
      try {
        const conversation = new Conversation(policy, sampling);
        if (options.prompt === undefined) await talk(context, policy, conversation);
        else {
          const reply = await conversation.ask(options.prompt);
          context.output.result({ prompt: options.prompt, ...reply }, reply.response);
        }
      } finally {
        await policy.close();
      }
    });
};

async function talk({ io, output }: Context, policy: Policy, conversation: Conversation): Promise<void> {
  output.note(`Talking to ${policy.name}. An empty line or Ctrl-D ends.`);
  if (policy.opening === null)
    output.note('It was trained without a chat template: it goes on from what you type.');
  const lines = createInterface({ input: io.stdin, output: io.stderr, prompt: '> ' });
  try {
    lines.prompt();
    for await (const line of lines) {
      if (line.trim() === '') return;
      const reply = await conversation.ask(line);
      output.result({ prompt: line, ...reply }, reply.response);
      lines.prompt();
    }
  } finally {
    lines.close();
  }
}
