import { describe, expect, it } from 'vitest';
import { attempts } from './attempts.ts';

const task = { id: 'sum', prompt: '1+2=', answer: '3' };
const environment = attempts({ kind: 'attempts', attempts: 3, feedback: 'no:', discount: 0.5 }, [
  { kind: 'exact-match', weight: 1 },
  { kind: 'format', weight: 0.5, pattern: '[0-9]' },
]);
const { signal } = new AbortController();

function after(...responses: string[]) {
  const observations = ['1+2=', 'no:', 'no:'].slice(0, responses.length);
  return { run: 'r', key: 'e', task, seed: 1, observations, responses };
}

describe('attempts', () => {
  it('opens with the task and answers a wrong response with the feedback', async () => {
    expect(await environment.open(after(), signal)).toBe('1+2=');
    expect(await environment.step(after('4'), signal)).toEqual({ observation: 'no:' });
  });

  it('ends with the right response, discounted once for each attempt before it; the rewards are as they are', async () => {
    expect(await environment.step(after('3'), signal)).toEqual({
      verdict: { outcome: 'scored', rewards: { 'exact-match': 1, format: 1 }, reward: 1.5 },
    });
    expect(await environment.step(after('4', '5', '3'), signal)).toEqual({
      verdict: { outcome: 'scored', rewards: { 'exact-match': 1, format: 1 }, reward: 0.375 },
    });
  });

  it('ends with the last attempt, and is worth what the last response is worth', async () => {
    expect(await environment.step(after('4', '5', 'x'), signal)).toEqual({
      verdict: { outcome: 'scored', rewards: { 'exact-match': 0, format: 0 }, reward: 0 },
    });
    expect(await environment.end(after('4', '5'), signal)).toEqual({
      rewards: { 'exact-match': 0, format: 1 },
      reward: 0.25,
    });
  });
});
