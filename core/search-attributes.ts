/** Custom search attributes of our workflows, by which the Web UI and `temporal workflow list` find runs. */
export const searchAttributes = {
  RekindleRun: 'Keyword',
  RekindleRecipe: 'Keyword',
  RekindlePhase: 'Keyword',
  RekindleIteration: 'Int',
  RekindlePolicyVersion: 'Int',
  RekindleRewardMean: 'Double',
} as const;

export type SearchAttributeName = keyof typeof searchAttributes;
export type SearchAttributeType = (typeof searchAttributes)[SearchAttributeName];
