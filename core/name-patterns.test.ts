import { describe, expect, it } from 'vitest';
import { matchingNames, namePatternProblem } from './name-patterns.ts';

const names = [
  'model.embed_tokens.weight',
  ...[0, 1, 2, 10].flatMap((layer) => [
    `model.layers.${layer}.self_attn.q_proj.weight`,
    `model.layers.${layer}.mlp.up_proj.weight`,
  ]),
  'model.norm.weight',
];
const matches = (...patterns: string[]): string[] => [...matchingNames(patterns, names)];

describe('a name pattern', () => {
  it('without signs stands for one name', () => {
    expect(matches('model.norm.weight')).toEqual(['model.norm.weight']);
  });

  it('with * matches any characters, dots included, and must match the whole name', () => {
    expect(matches('model.embed_tokens.*')).toEqual(['model.embed_tokens.weight']);
    expect(matches('*.mlp.*')).toHaveLength(4);
    expect(() => matches('model.layers')).toThrow('"model.layers" matches no name of a tensor');
  });

  it('with a range matches whole numbers only: layer 1 is not layer 10', () => {
    expect(matches('model.layers.{0..1}.*')).toEqual(names.slice(1, 5));
    expect(matches('model.layers.{2..10}.mlp.*')).toHaveLength(2);
  });

  it('with choices matches any of them', () => {
    expect(matches('model.layers.0.*.{q_proj,up_proj}.weight')).toEqual(names.slice(1, 3));
  });

  it('takes a dot for a dot', () => {
    expect(() => matches('model?norm.weight')).toThrow('matches no name');
    expect(() => matches('modelxnorm.weight')).toThrow('matches no name');
  });

  it('together with others gives each name once, in the order of names', () => {
    expect(matches('model.norm.*', 'model.embed*', 'model.embed_tokens.weight')).toEqual([
      names[0],
      names.at(-1),
    ]);
  });

  it('that matches nothing lists the names like it, one for all layers', () => {
    const near = /Names like it: model.layers.0.mlp.up_proj.weight, /;
    expect(() => matches('model.layers.3.mlp.up_proj')).toThrow(
      expect.objectContaining({ kind: 'RecipeError', hint: expect.stringMatching(near) as string }),
    );
  });

  it.each([
    ['a.{0..', 'has a brace without its partner'],
    ['a.}0', 'has a brace without its partner'],
    ['a.{3..1}', 'is not a rising range'],
    ['a.{0..99999}', 'is not a rising range'],
    ['a.{b}', 'is neither a range such as {0..3} nor a choice'],
  ])('%s is refused', (pattern, problem) => {
    expect(namePatternProblem(pattern)).toContain(problem);
    expect(() => matches(pattern)).toThrow(problem);
  });
});
