/** Numbers as written in answers, exactly: no rounding, no exponent, no limit but a length that keeps the work small. */

/** numerator / denominator in lowest terms, denominator > 0. */
export interface Rational {
  numerator: bigint;
  denominator: bigint;
}

/** Longer numbers are read as text. */
const LONGEST_NUMBER = 1000;
const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?$/;
const GROUPED = /^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?$/;
const LATEX_FRACTION = /^([+-]?)\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}$/;

/**
 * Reads an integer, decimal, `a/b` or `\frac{a}{b}`, with ASCII digits, an optional sign and commas between groups of three.
 * Undefined if the text is anything else, a denominator is 0, or it has more than 1,000 characters.
 */
export function parseRational(text: string): Rational | undefined {
  if (text.length > LONGEST_NUMBER) return undefined;
  const latex = LATEX_FRACTION.exec(text);
  if (latex) return quotient(parseDecimal(latex[1]! + latex[2]!), parseDecimal(latex[3]!));
  const slash = text.indexOf('/');
  if (slash < 0) return parseDecimal(text);
  return quotient(parseDecimal(text.slice(0, slash)), parseDecimal(text.slice(slash + 1)));
}

export function equalRationals(a: Rational, b: Rational): boolean {
  return a.numerator === b.numerator && a.denominator === b.denominator;
}

function parseDecimal(text: string): Rational | undefined {
  const trimmed = text.trim();
  const match = DECIMAL.exec(GROUPED.test(trimmed) ? trimmed.replaceAll(',', '') : trimmed);
  if (!match) return undefined;
  const whole = match[2]!;
  const fraction = match[3] ?? '';
  if (whole === '' && fraction === '') return undefined;
  const magnitude = BigInt(whole + fraction);
  return reduce(match[1] === '-' ? -magnitude : magnitude, 10n ** BigInt(fraction.length));
}

function quotient(a: Rational | undefined, b: Rational | undefined): Rational | undefined {
  if (!a || !b || b.numerator === 0n) return undefined;
  const sign = b.numerator < 0n ? -1n : 1n;
  return reduce(sign * a.numerator * b.denominator, sign * a.denominator * b.numerator);
}

function reduce(numerator: bigint, denominator: bigint): Rational {
  let a = numerator < 0n ? -numerator : numerator;
  let b = denominator;
  while (b !== 0n) [a, b] = [b, a % b];
  return { numerator: numerator / a, denominator: denominator / a };
}
