/** A namespace whose operator API refuses, as on Temporal Cloud; what a development server does is in dev-server.test.ts. */
import type { Connection } from '@temporalio/client';
import { expect, it } from 'vitest';
import { searchAttributes } from '../../core/search-attributes.ts';
import { registerSearchAttributes } from './namespace.ts';

type OperatorService = Connection['operatorService'];

function refused(): Promise<never> {
  return Promise.reject(Object.assign(new Error('7 PERMISSION_DENIED: Request unauthorized.'), { code: 7 }));
}

/** Only the methods that are called. */
function operatorService(methods: object): { operatorService: OperatorService } {
  return { operatorService: methods as OperatorService };
}

it('names each missing search attribute and how to create it when they may not be added', async () => {
  const connection = operatorService({
    listSearchAttributes: () => Promise.resolve({ customAttributes: { RekindleRun: 2 } }),
    addSearchAttributes: refused,
  });
  const error = await registerSearchAttributes(connection, 'training.a1b2c', () => undefined).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({
    kind: 'TemporalError',
    retryable: false,
    message: expect.stringContaining('Request unauthorized') as string,
  });
  const { hint } = error as { hint: string };
  expect(hint).toContain('tcld namespace search-attributes add --namespace training.a1b2c');
  for (const [name, type] of Object.entries(searchAttributes)) {
    if (name === 'RekindleRun') expect(hint).not.toContain(name);
    else expect(hint).toMatch(new RegExp(`--name ${name} --type ${type}`));
  }
});

it('goes on with a note of what is needed when they may not be listed', async () => {
  const said: string[] = [];
  const connection = operatorService({ listSearchAttributes: refused });
  await registerSearchAttributes(connection, 'training.a1b2c', (line) => void said.push(line));
  for (const name of Object.keys(searchAttributes)) expect(said.join('\n')).toContain(name);
});
