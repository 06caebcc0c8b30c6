/** The rotary settings of config.json, in the forms of transformers 4 and 5. */
import { z } from 'zod';
import type { DecoderConfig, RopeScaling } from './decoder-config.ts';
import type { Refuse } from './families/family.ts';
import { shown } from './model-files.ts';
import type { RawConfig } from './raw-config.ts';

type RopeConfig = Pick<DecoderConfig, 'ropeTheta' | 'ropeScaling'>;

const DEFAULT_THETA = 10_000;
const positive = z.number().positive();
const common = {
  rope_type: z.string().optional(),
  /** Its name before transformers 4.43. */
  type: z.string().optional(),
  rope_theta: positive.optional(),
  partial_rotary_factor: z.literal(1).optional(),
};
const schemas = {
  default: z.strictObject(common),
  linear: z.strictObject({ ...common, factor: positive }),
  llama3: z.strictObject({
    ...common,
    factor: positive,
    low_freq_factor: positive,
    high_freq_factor: positive,
    original_max_position_embeddings: positive,
  }),
};

/** Reads whichever of the two is there; where both are, transformers 5 takes `rope_scaling` too. */
export function readRope(raw: RawConfig, refuse: Refuse): RopeConfig {
  const key = raw.rope_scaling ? 'rope_scaling' : 'rope_parameters';
  const settings = raw[key] ?? {};
  const partial = raw.partial_rotary_factor ?? 1;
  if (partial !== 1) refuse('partial_rotary_factor', partial, '1');

  const read = <T extends z.ZodType>(schema: T): z.infer<T> => {
    const parsed = schema.safeParse(settings);
    if (parsed.success) return parsed.data;
    const { path, message, ...issue } = parsed.error.issues[0]!;
    const name = String(path[0] ?? (issue.code === 'unrecognized_keys' ? issue.keys[0] : ''));
    return refuse(`${key}.${name}`, settings[name], `none, or as ${shown(type)} asks (${message})`);
  };
  const type = settings['rope_type'] ?? settings['type'] ?? 'default';
  const theta = (inner: number | undefined): number => inner ?? raw.rope_theta ?? DEFAULT_THETA;
  switch (type) {
    case 'default':
      return { ropeTheta: theta(read(schemas.default).rope_theta), ropeScaling: null };
    case 'linear': {
      const { rope_theta, factor } = read(schemas.linear);
      return { ropeTheta: theta(rope_theta), ropeScaling: { kind: 'linear', factor } };
    }
    case 'llama3': {
      const rope = read(schemas.llama3);
      const scaling: RopeScaling = {
        kind: 'llama3',
        factor: rope.factor,
        lowFrequencyFactor: rope.low_freq_factor,
        highFrequencyFactor: rope.high_freq_factor,
        originalMaxPositions: rope.original_max_position_embeddings,
      };
      if (scaling.lowFrequencyFactor >= scaling.highFrequencyFactor) {
        const supported = `more than low_freq_factor, ${rope.low_freq_factor}`;
        refuse(`${key}.high_freq_factor`, rope.high_freq_factor, supported);
      }
      return { ropeTheta: theta(rope.rope_theta), ropeScaling: scaling };
    }
    default:
      return refuse(`${key}.rope_type`, type, '"default", "linear", "llama3"');
  }
}

/** The keys for both versions of transformers: 5 reads those of 4. */
export function ropeKeys({ ropeTheta, ropeScaling }: RopeConfig): Record<string, unknown> {
  if (ropeScaling === null) return { rope_theta: ropeTheta };
  const { kind, factor } = ropeScaling;
  const scaling =
    kind === 'linear'
      ? { rope_type: kind, factor }
      : {
          rope_type: kind,
          factor,
          low_freq_factor: ropeScaling.lowFrequencyFactor,
          high_freq_factor: ropeScaling.highFrequencyFactor,
          original_max_position_embeddings: ropeScaling.originalMaxPositions,
        };
  return { rope_theta: ropeTheta, rope_scaling: scaling };
}
