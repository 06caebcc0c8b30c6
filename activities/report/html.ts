/**
 * HTML that is safe by construction: the `html` tag escapes every value put into it. Only markup made by the tag, or
 * declared trusted by name, goes in as it is.
 */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Interpolation = Html | string | number | readonly Html[];

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character]!);
}

function render(value: Interpolation): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  return value.map((part) => part.text).join('');
}

/** Builds markup; interpolated strings and numbers are escaped, in text and in quoted attributes alike. */
export function html(parts: TemplateStringsArray, ...values: Interpolation[]): Html {
  return new Html(parts.reduce((text, part, i) => text + render(values[i - 1]!) + part));
}

/** Markup that no user's text can reach, such as our own style sheet. */
export function trustedHtml(text: string): Html {
  return new Html(text);
}

/** A value as a JSON literal for an inline script: a `</script>` in its strings can't end the script. */
export function scriptJson(value: unknown): Html {
  const escapes: Record<string, string> = { '<': '\\u003c', '\u2028': '\\u2028', '\u2029': '\\u2029' };
  return new Html(JSON.stringify(value).replace(/[<\u2028\u2029]/g, (character) => escapes[character]!));
}
