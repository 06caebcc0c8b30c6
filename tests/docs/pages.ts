/** The documentation as its readers see it: pages, fenced blocks, links. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Page {
  /** From the root of the repository. */
  name: string;
  path: string;
  text: string;
}

/** Every page, README first. */
export const pages: Page[] = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => join('docs', name)),
].map((name) => {
  const path = join(root, name);
  return { name, path, text: readFileSync(path, 'utf8') };
});

export function page(name: string): Page {
  const found = pages.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no page ${name}`);
  return found;
}

export interface Block {
  page: string;
  /** Of the block's first line of text, from 1. */
  line: number;
  language: string;
  text: string;
}

/** Fenced blocks of a language, in the order of the page. */
export function blocks({ name, text }: Page, language: string): Block[] {
  const found: Block[] = [];
  let open: Block | undefined;
  text.split('\n').forEach((line, i) => {
    const fence = /^ *```(\w*)$/.exec(line);
    if (fence && open === undefined) open = { page: name, line: i + 2, language: fence[1]!, text: '' };
    else if (fence) {
      if (open!.language === language) found.push(open!);
      open = undefined;
    } else if (open !== undefined) open.text += `${line}\n`;
  });
  if (open !== undefined) throw new Error(`${name}: the block at line ${open.line} is not closed`);
  return found;
}

/** A page's text without its fenced blocks. */
export function prose({ text }: Page): string {
  return text.replace(/^ *```[^]*?^ *```$/gm, '');
}

export interface Link {
  target: string;
  /** What the link names, as a path from the root; null for one that leads to another site. */
  path: string | null;
  heading: string | null;
}

export function links(from: Page): Link[] {
  return [...prose(from).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => {
    if (/^https?:/.test(target!)) return { target: target!, path: null, heading: null };
    const [file, heading] = target!.split('#');
    const path = file === '' ? from.path : join(dirname(from.path), file!);
    return { target: target!, path: relative(root, path), heading: heading ?? null };
  });
}

/** The anchors of a page's headings, as GitHub forms them. */
export function headings(of: Page): string[] {
  return [...prose(of).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
