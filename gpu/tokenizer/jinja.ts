/**
 * What is used of the Jinja library. Its own declarations import files without an extension, which TypeScript's NodeNext
 * resolution does not find, so the types are stated here.
 */
import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';

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
