/** What may be changed while a run is going on, and within which bounds. Free of schemas, so that workflows can use it. */

/** Below it logits over the temperature may overflow, and what is not finite ends every request of the same weights. */
export const smallestTemperature = 1e-6;

export interface Bounds {
  /** The smallest value; any positive number when absent. */
  least?: number;
  most: number;
}

export const steerable = {
  learningRate: { most: 1 },
  temperature: { least: smallestTemperature, most: 100 },
  klCoefficient: { most: 100 },
  clipLow: { most: 0.99 },
  clipHigh: { most: 100 },
  entropyCoefficient: { most: 100 },
} as const satisfies Record<string, Bounds>;

export type Steerable = keyof typeof steerable;

/** Why a value cannot be given to a setting; undefined when it can. Whoever asks names the setting. */
export function steeringProblem(name: string, value: unknown): string | undefined {
  if (!isSteerable(name))
    return `it cannot be changed during a run: expected one of ${Object.keys(steerable).join(', ')}`;
  const { least = 0, most }: Bounds = steerable[name];
  if (typeof value === 'number' && value > 0 && value >= least && value <= most) return undefined;
  const from = least === 0 ? '' : `from ${least} and `;
  return `expected a positive number, ${from}at most ${most}, found ${JSON.stringify(value)}`;
}

function isSteerable(name: string): name is Steerable {
  return Object.hasOwn(steerable, name);
}
