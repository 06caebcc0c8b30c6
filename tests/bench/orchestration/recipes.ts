/** The runs that are measured: a tiny model, and an engine that answers at once or after as long as it is told to. */
import type { RecipeInput } from '../../../core/recipe.ts';

type Rollout = Partial<RecipeInput['rollout']> & { tasksPerIteration: number };

/** A run of `iterations` iterations without warm start and evaluation. */
export function measuredRecipe(
  name: string,
  iterations: number,
  rollout: Rollout,
  changes: Partial<RecipeInput> = {},
): RecipeInput {
  return {
    name,
    model: {
      initialize: {
        hiddenSize: 16,
        layers: 1,
        heads: 1,
        kvHeads: 1,
        headSize: 16,
        feedForwardSize: 16,
        maxPositions: 64,
        tokenizer: 'characters',
      },
    },
    data: { train: { source: 'addition', digits: 2 } },
    rewards: [{ kind: 'exact-match' }],
    rollout: { groupSize: 8, maxNewTokens: 8, ...rollout },
    algorithm: { dropZeroVarianceGroups: false },
    training: {
      iterations,
      minibatchRows: rollout.tasksPerIteration * (rollout.groupSize ?? 8),
      optimizer: { learningRate: 1e-4 },
    },
    ...changes,
  };
}
