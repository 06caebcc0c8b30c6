/** REINFORCE without a baseline: A_i = r_i. Williams, "Simple statistical gradient-following algorithms", 1992. */
export function reinforce(rewardsG: readonly number[]): number[] {
  return [...rewardsG];
}
