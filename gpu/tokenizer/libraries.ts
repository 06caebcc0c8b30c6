/**
 * What is used of the tokenizer and the Jinja library. Their own declarations import files without an extension, which
 * TypeScript's NodeNext resolution does not find, so the types are stated here.
 */
import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';
import { Tokenizer } from '@huggingface/tokenizers';

export interface TokenizerLibrary {
  /** The tokens of the vocabulary by id, with holes where no token has an id. */
  readonly model: { readonly vocab: readonly (string | undefined)[] };
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
  /** Throws on an empty list. */
  decode(ids: readonly number[], options: { clean_up_tokenization_spaces: boolean }): string;
  token_to_id(token: string): number | undefined;
}
export const TokenizerLibrary = Tokenizer as unknown as new (
  definition: object,
  config: object,
) => TokenizerLibrary;

/** A parsed template. */
interface TemplateProgram {
  readonly type: 'Program';
}
interface TemplateEnvironment {
  set(name: string, value: unknown): void;
}

/** Parses a Jinja template with the whitespace rules of transformers. */
export function parseTemplate(source: string): TemplateProgram {
  const tokens = (tokenize as (source: string, options: object) => unknown[])(source, {
    lstrip_blocks: true,
    trim_blocks: true,
  });
  return (parse as (tokens: unknown[]) => TemplateProgram)(tokens);
}

/** Renders a template in which nothing is defined but these variables and Jinja's `namespace`. */
export function renderTemplate(program: TemplateProgram, variables: Record<string, unknown>): string {
  const environment = new (Environment as unknown as new () => TemplateEnvironment)();
  for (const [name, value] of Object.entries(variables)) environment.set(name, value);
  type InterpreterClass = new (environment: TemplateEnvironment) => {
    run(program: TemplateProgram): { value: string };
  };
  return new (Interpreter as unknown as InterpreterClass)(environment).run(program).value;
}
