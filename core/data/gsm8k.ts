/**
 * Rows in the format of GSM8K (Cobbe et al., "Training verifiers to solve math word problems", 2021): a question, and an
 * answer that ends with a line `#### <number>`.
 */
import { z } from 'zod';
import { seedAt, uniformAt } from '../seeds.ts';

export const gsm8kColumns = ['question', 'answer'] as const;

export const gsm8kRowSchema = z.object({
  question: z.string().trim().min(1, 'is empty'),
  answer: z.string().regex(/####\s*\S/, 'expected a last line "#### <number>"'),
});
export type Gsm8kRow = z.infer<typeof gsm8kRowSchema>;

const calculatorNotes = /<<[^<>]*>>/g;

/** The final answer: what follows `####`, without thousands separators. */
export function finalAnswer(row: Gsm8kRow): string {
  return row.answer
    .slice(row.answer.lastIndexOf('####') + 4)
    .trim()
    .replace(/(?<=\d),(?=\d)/g, '');
}

/** The reference solution as a response to imitate: without calculator notes (`<<48/2=24>>`), ending `#### <number>`. */
export function referenceSolution(row: Gsm8kRow): string {
  return row.answer.replace(calculatorNotes, '').trim();
}

/** Whether a question is in the tenth held out when no evaluation file is given: by its text alone, whatever the run seed. */
export function isHeldOutQuestion(question: string): boolean {
  return uniformAt(seedAt(0, 'heldOut', textHash(question)), 0) < 0.1;
}

/** FNV-1a, 32 bits, over UTF-16 code units (Fowler, Noll, Vo). */
function textHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
