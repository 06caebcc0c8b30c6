/** What docs/serving.md shows, asked of a server. */
import { expect, it, test } from 'vitest';
import { endpoints } from '../../gpu/serving/model-server.ts';
import { startTestServer } from '../fixtures/serving.ts';
import { writeTinyModel } from '../fixtures/tiny-model.ts';
import { scratchFolder } from '../harness/scratch-folder.ts';
import { commandLines } from './command-lines.ts';
import { page } from './pages.ts';

const serving = page('docs/serving.md');
const requests = commandLines(serving).filter(({ program }) => program === 'curl');

it('asks with curl', () => expect(requests.length).toBeGreaterThan(4));

test.each(requests)('$where is answered', async ({ args }) => {
  const server = await startTestServer();
  const newer = scratchFolder();
  await writeTinyModel(newer, 2);
  const body = args.includes('-d') ? args[args.indexOf('-d') + 1] : undefined;
  const url = args.find((word) => word.startsWith('localhost:30000'))!.replace('localhost:30000', server.url);
  const answer = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    // As curl sends it.
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    ...(body !== undefined && { body: body.replace('./newer-model', newer) }),
  });
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringMatching(/^(data: )?[[{]/)]);
});

it('lists exactly the endpoints that there are', () => {
  const listed = [...serving.text.matchAll(/^\| `((?:GET|POST) \S+)`/gm)].map(([, endpoint]) => endpoint);
  expect(listed.sort()).toEqual(Object.keys(endpoints).sort());
});
