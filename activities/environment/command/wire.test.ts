import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isCause } from '../../../core/errors.ts';
import { checkRewards, readReply, writeMessage, type Message } from './wire.ts';

const types: Message['type'][] = ['open', 'step', 'end'];

describe('a line of the program', () => {
  it('is read as what it says', () => {
    expect(readReply('open', '{"observation": "go"}\r', 1)).toEqual({ observation: 'go' });
    expect(readReply('step', '{"observation": ""}', 2)).toEqual({ observation: '' });
    expect(readReply('step', '{"rewards": {"a": -0.5}, "done": true}', 3)).toEqual({
      rewards: { a: -0.5 },
      done: true,
    });
  });

  it.each([
    ['open', 'hello', 'line 7 of the program: "hello" is not JSON; expected {"observation": "text"}'],
    ['open', '{"rewards": {}, "done": true}', 'is not such a reply; expected {"observation": "text"}'],
    ['end', '{"observation": "x"}', 'expected {"rewards": {"name": number, …}, "done": true}'],
    ['step', '{"rewards": {"a": "1"}, "done": true}', 'in reply to "step"'],
    ['step', '{"rewards": {"a": 1e999}, "done": true}', 'is not such a reply'],
    ['step', '{"rewards": {"a": 1}, "done": false}', 'is not such a reply'],
    ['step', '{"observation": "x", "rewards": {"a": 1}, "done": true}', 'is not such a reply'],
    ['step', '', 'line 7 of the program: "" is not JSON'],
  ] as const)(
    'in reply to %s that is %j is refused by its number, with what was expected',
    (type, line, told) => {
      expect(() => readReply(type, line, 7)).toThrow(told);
    },
  );

  it('is read or refused by an EnvironmentError that is permanent, whatever it is', () => {
    const line = fc.oneof(
      fc.string(),
      fc.json(),
      fc.object().map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(line, fc.constantFrom(...types), (text, type) => {
        try {
          const reply = readReply(type, text, 1);
          expect('observation' in reply ? typeof reply.observation : typeof reply.rewards).toMatch(
            /string|object/,
          );
        } catch (error) {
          expect(isCause(error, 'EnvironmentError') && !error.retryable).toBe(true);
        }
      }),
    );
  });

  it('survives any text that is said to it: a message is one line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (response) => {
        const line = writeMessage({ type: 'step', response });
        expect(line.slice(0, -1)).not.toContain('\n');
        expect(line.endsWith('\n')).toBe(true);
      }),
    );
  });
});

it('rewards that the recipe asks for must all be given', () => {
  expect(checkRewards({ a: 1, extra: 2 }, ['a'], 3)).toEqual({ a: 1, extra: 2 });
  expect(() => checkRewards({ a: 1 }, ['a', 'b'], 3)).toThrow(
    'line 3 of the program gives the rewards a; the recipe expects b too',
  );
});
