/** What Rekindle needs of a namespace: closed runs kept long enough to be looked at, and its search attributes. */
import type { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { RekindleError } from '../../core/errors.ts';
import { searchAttributes, type SearchAttributeType } from '../../core/search-attributes.ts';

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

/** Registers those that are missing. Throws TemporalError when one exists with another type, or may not be added. */
export async function registerSearchAttributes(connection: Connection, namespace: string): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing: Record<string, number> = {};
  for (const [name, type] of Object.entries(searchAttributes)) {
    const present: number | undefined = customAttributes[name];
    if (present === undefined) missing[name] = indexedValueTypes[type];
    else if (present !== indexedValueTypes[type]) {
      throw new RekindleError(
        'TemporalError',
        `Search attribute ${name} of "${namespace}" is not of type ${type}`,
        {
          hint: `Remove it: temporal operator search-attribute remove --namespace ${namespace} --name ${name}`,
        },
      );
    }
  }
  if (Object.keys(missing).length === 0) return;
  try {
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: missing });
  } catch (error) {
    throw new RekindleError(
      'TemporalError',
      `Cannot add search attributes to "${namespace}": ${(error as Error).message}`,
      {
        hint: `Ask its operator to add ${Object.keys(missing).join(', ')}.`,
        cause: error,
      },
    );
  }
}
