import { z } from 'zod';

export const recipeMapSchema = z.record(z.string(), z.unknown());
