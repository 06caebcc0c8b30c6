/** What was run, exactly: the recipe with all defaults, and the hashes that name every version's weights. */
import { stringify } from 'yaml';
import type { LogEntry } from '../../core/records.ts';
import type { Recipe } from '../../core/recipe.ts';
import { html, type Html } from './html.ts';

function versionRow(entry: LogEntry): Html {
  const step =
    entry.kind === 'reinforcement'
      ? `iteration ${entry.iteration}`
      : entry.kind === 'rollback'
        ? `rollback to version ${entry.restores}`
        : entry.kind;
  const changed = Object.entries(entry.hyperparameters)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
  return html`<tr>
    <td class="number">${entry.version}</td>
    <td>${step}</td>
    <td>${entry.update}</td>
    <td class="number">${entry.optimizerStep}</td>
    <td>${changed}</td>
    <td><code>${entry.weights.hash}</code></td>
  </tr>`;
}

/** Renders the resolved recipe and the table of policy versions, each folded away. */
export function renderConfiguration(recipe: Recipe | null, entries: LogEntry[]): Html {
  const settings = recipe
    ? html`<details>
        <summary>Recipe, with every default</summary>
        <pre>${stringify(recipe)}</pre>
      </details>`
    : html`<p class="quiet">The resolved recipe is not in the store.</p>`;
  return html`${settings}
    <details>
      <summary>Policy versions and the hashes of their weights</summary>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th class="number">version</th>
              <th>made by</th>
              <th>update</th>
              <th class="number">optimizer step</th>
              <th>changed settings</th>
              <th>weights</th>
            </tr>
          </thead>
          <tbody>
            ${entries.map(versionRow)}
          </tbody>
        </table>
      </div>
    </details>`;
}
