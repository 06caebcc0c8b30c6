/** What Rekindle needs of a namespace: closed runs kept long enough to be looked at, and its search attributes. */
import { isGrpcServiceError, type Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { RekindleError } from '../../core/errors.ts';
import {
  searchAttributes,
  type SearchAttributeName,
  type SearchAttributeType,
} from '../../core/search-attributes.ts';

/** Closed workflows disappear after this; the server's own default is one day. */
const retention = '30 days';

/** Numbers of the API's enum IndexedValueType. */
const indexedValueTypes: Readonly<Record<SearchAttributeType, number>> = { Keyword: 2, Int: 3, Double: 4 };

/** Throws TemporalError when the server has no such namespace. */
export async function requireNamespace(connection: Connection, namespace: string): Promise<void> {
  try {
    await connection.workflowService.describeNamespace({ namespace });
  } catch (error) {
    throw new RekindleError('TemporalError', `Namespace "${namespace}": ${(error as Error).message}`, {
      hint: `Create it: temporal operator namespace create --namespace ${namespace} --retention 720h`,
      cause: error,
    });
  }
}

export async function keepClosedRuns(connection: Connection, namespace: string): Promise<void> {
  await connection.workflowService.updateNamespace({
    namespace,
    config: { workflowExecutionRetentionTtl: msToTs(retention) },
  });
}

/**
 * Registers those that are missing. Where they may not even be listed, says which ones a run needs and goes on. Throws
 * TemporalError when one exists with another type, or may not be added.
 */
export async function registerSearchAttributes(
  { operatorService }: Pick<Connection, 'operatorService'>,
  namespace: string,
  say: (line: string) => void,
): Promise<void> {
  let present: Record<string, number>;
  try {
    present = (await operatorService.listSearchAttributes({ namespace })).customAttributes;
  } catch (error) {
    if (isTransient(error)) throw error;
    say(`Cannot see the search attributes of "${namespace}" (${(error as Error).message}).`);
    say(`A run needs all of these: ${describeAttributes(Object.keys(searchAttributes))}.`);
    return;
  }
  const missing = Object.keys(searchAttributes).filter((name) => present[name] === undefined);
  for (const [name, type] of Object.entries(searchAttributes)) {
    if (missing.includes(name) || present[name] === indexedValueTypes[type]) continue;
    throw new RekindleError(
      'TemporalError',
      `Search attribute ${name} of "${namespace}" is not of type ${type}`,
      {
        hint: `Remove it: temporal operator search-attribute remove --namespace ${namespace} --name ${name}`,
        permanent: true,
      },
    );
  }
  if (missing.length === 0) return;
  const added = missing.map((name) => [name, indexedValueTypes[typeOf(name)]] as const);
  try {
    await operatorService.addSearchAttributes({ namespace, searchAttributes: Object.fromEntries(added) });
  } catch (error) {
    if (isTransient(error)) throw error;
    throw new RekindleError(
      'TemporalError',
      `"${namespace}" lacks search attributes, and they may not be added from here: ${(error as Error).message}`,
      {
        hint: [
          `Whoever administers it must add ${describeAttributes(missing)}:`,
          `  on Temporal Cloud in its Web UI, or with ${cloudCommand(namespace, missing)}`,
          ...missing.map((name) => `  elsewhere with ${operatorCommand(namespace, name)}`),
        ].join('\n'),
        cause: error,
        permanent: true,
      },
    );
  }
}

/** gRPC's DEADLINE_EXCEEDED and UNAVAILABLE. */
const transientCodes: readonly number[] = [4, 14];

function isTransient(error: unknown): boolean {
  return isGrpcServiceError(error) && transientCodes.includes(error.code);
}

function typeOf(name: string): SearchAttributeType {
  return searchAttributes[name as SearchAttributeName];
}

function describeAttributes(names: readonly string[]): string {
  return names.map((name) => `${name} (${typeOf(name)})`).join(', ');
}

function cloudCommand(namespace: string, names: readonly string[]): string {
  const options = names.map((name) => `--search-attribute "${name}=${typeOf(name)}"`);
  return ['tcld namespace search-attributes add --namespace', namespace, ...options].join(' ');
}

function operatorCommand(namespace: string, name: string): string {
  return `temporal operator search-attribute create --namespace ${namespace} --name ${name} --type ${typeOf(name)}`;
}
