/** Typed look-ups in the metadata of a GGUF file; each names the key, its value and what was expected. */
import { shown } from '../model/model-files.ts';
import type { Refuse } from './gguf-error.ts';
import type { GgufMetadata, GgufValue } from './gguf-header.ts';

export class GgufKeys {
  readonly #metadata: GgufMetadata;
  readonly refuse: Refuse;

  constructor(metadata: GgufMetadata, refuse: Refuse) {
    this.#metadata = metadata;
    this.refuse = refuse;
  }

  #find<T extends GgufValue>(
    key: string,
    is: (value: GgufValue) => value is T,
    expected: string,
  ): T | undefined {
    const value = this.#metadata.get(key);
    if (value === undefined || is(value)) return value;
    return this.refuse(`metadata ${key} is ${shown(value)}, expected ${expected}`);
  }

  #required<T>(key: string, value: T | undefined): T {
    return value ?? this.refuse(`has no metadata ${key}`);
  }

  findNumber(key: string): number | undefined {
    return this.#find(key, (value): value is number => typeof value === 'number', 'a number');
  }
  number(key: string): number {
    return this.#required(key, this.findNumber(key));
  }
  findText(key: string): string | undefined {
    return this.#find(key, (value): value is string => typeof value === 'string', 'a text');
  }
  text(key: string): string {
    return this.#required(key, this.findText(key));
  }
  findFlag(key: string): boolean | undefined {
    return this.#find(key, (value): value is boolean => typeof value === 'boolean', 'true or false');
  }
  findNumbers(key: string): number[] | undefined {
    const all = (value: GgufValue): value is number[] =>
      Array.isArray(value) && value.every((one) => typeof one === 'number');
    return this.#find(key, all, 'a list of numbers');
  }
  findTexts(key: string): string[] | undefined {
    const all = (value: GgufValue): value is string[] =>
      Array.isArray(value) && value.every((one) => typeof one === 'string');
    return this.#find(key, all, 'a list of texts');
  }
  texts(key: string): string[] {
    return this.#required(key, this.findTexts(key));
  }
}
