/** Addresses of pages in Temporal's Web UI. */
import { workflowIds } from '../core/ids.ts';

/** The page of a run; null when no Web UI was found. */
export function runLink(uiUrl: string | undefined, namespace: string, run: string): string | null {
  if (uiUrl === undefined) return null;
  return `${uiUrl.replace(/\/$/, '')}/namespaces/${namespace}/workflows/${workflowIds.train(run)}`;
}
