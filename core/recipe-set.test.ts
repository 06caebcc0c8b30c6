import { describe, expect, test } from 'vitest';
import { RekindleError } from './errors.ts';
import { applyOverrides } from './recipe-set.ts';

function refusal(override: string, recipe = {}): RekindleError {
  try {
    applyOverrides(recipe, [override]);
  } catch (error) {
    if (error instanceof RekindleError) return error;
  }
  throw new Error(`${override} was not refused`);
}

describe('overrides', () => {
  test('are read as YAML and applied in order, making the mappings that are not there yet', () => {
    const recipe = { rollout: { groupSize: 4 } };
    const overrides = ['rollout.groupSize=8', 'training.optimizer.learningRate=3e-4', 'rollout.groupSize=16'];
    expect(applyOverrides(recipe, overrides)).toEqual({
      rollout: { groupSize: 16 },
      training: { optimizer: { learningRate: 3e-4 } },
    });
    expect(recipe).toEqual({ rollout: { groupSize: 4 } });
  });

  test('may hold a whole mapping, and an equals sign', () => {
    const overridden = applyOverrides({}, ['data.train={source: gsm8k, path: a=b.jsonl}']);
    expect(overridden).toEqual({ data: { train: { source: 'gsm8k', path: 'a=b.jsonl' } } });
  });

  test('name list items by index', () => {
    const rewards = [{ kind: 'exact-match' }, { kind: 'format', pattern: 'x' }];
    expect(applyOverrides({ rewards }, ['rewards.1.weight=0.5'])).toEqual({
      rewards: [{ kind: 'exact-match' }, { kind: 'format', pattern: 'x', weight: 0.5 }],
    });
    expect(refusal('rewards.2.weight=1', { rewards }).message).toContain('index 2 is outside a list of 2');
  });

  test('remove a key with null or nothing', () => {
    const recipe = { warmStart: { maxSteps: 3 }, prompt: { system: 'x' } };
    expect(applyOverrides(recipe, ['warmStart=null', 'prompt.system='])).toEqual({ prompt: {} });
  });
});

describe('an override is refused', () => {
  test('for a misspelt key, with the key that was meant', () => {
    const error = refusal('rollout.groupSze=8');
    expect(error.kind).toBe('RecipeError');
    expect(error.message).toContain('rollout has no key "groupSze"');
    expect(error.hint).toBe('Did you mean rollout.groupSize?');
  });

  test('for a key that stands elsewhere, with every place of it', () => {
    expect(refusal('groupSize=8').hint).toBe('Did you mean rollout.groupSize?');
    expect(refusal('optimizer=8').hint).toBe('Did you mean warmStart.optimizer or training.optimizer?');
  });

  test('for a path into a plain value', () => {
    expect(refusal('seed.x=1').message).toContain('seed has no key "x"');
  });

  test('for a missing equals sign or path', () => {
    expect(refusal('rollout.groupSize').message).toContain('expected path=value');
    expect(refusal('=8').message).toContain('expected path=value');
  });

  test('for a value that is not YAML', () => {
    expect(refusal('rewards=[').message).toContain('the value is not YAML');
  });
});
