/** The report as one HTML document that needs no network: style, charting library and data are inside. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { LogEntry, Meta } from '../../core/records.ts';
import type { Recipe } from '../../core/recipe.ts';
import type { FaultAccount } from '../../store/fault-account.ts';
import type { Chart } from './charts.ts';
import { renderConfiguration } from './configuration-section.ts';
import { renderFaults } from './faults-section.ts';
import { renderHeader } from './header-section.ts';
import { html, scriptJson, trustedHtml, type Html } from './html.ts';
import type { PhaseSpan } from './phases.ts';
import { renderSamples, type ShowToken } from './samples-section.ts';
import type { IterationSamples } from './samples.ts';
import { reportScript } from './report-script.ts';
import { reportStyle } from './report-style.ts';
import { renderTime } from './time-section.ts';

/** Written as a value: tools that lower templates for old browsers take apart those that end a script. */
const script = 'script';

export interface ReportData {
  meta: Meta;
  recipe: Recipe | null;
  entries: LogEntry[];
  charts: Chart[];
  samples: IterationSamples[];
  spans: PhaseSpan[];
  account: FaultAccount;
}

async function readChartLibrary(): Promise<{ script: string; style: string }> {
  const folder = path.dirname(createRequire(import.meta.url).resolve('uplot'));
  const [script, style] = await Promise.all([
    readFile(path.join(folder, 'uPlot.iife.min.js'), 'utf8'),
    readFile(path.join(folder, 'uPlot.min.css'), 'utf8'),
  ]);
  return { script, style };
}

function renderCharts(charts: Chart[]): Html {
  const figures = charts.map(
    ({ id, title, description }) =>
      html`<figure>
        <figcaption>
          <h3>${title}</h3>
          <p>${description}</p>
        </figcaption>
        <div class="chart" id="chart-${id}"></div>
      </figure>`,
  );
  return html`<div class="charts">${figures}</div>`;
}

/** Renders the whole document. */
export async function renderPage(data: ReportData, showToken: ShowToken): Promise<string> {
  const library = await readChartLibrary();
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${data.meta.runId} · Rekindle</title>
        <link rel="icon" href="data:," />
        <style>
          ${trustedHtml(library.style)}${trustedHtml(reportStyle)}
        </style>
      </head>
      <body>
        <main>
          ${renderHeader(data.meta)}
          <section>
            <h2>Curves</h2>
            ${renderCharts(data.charts)}
          </section>
          <section>
            <h2>Sample trajectories</h2>
            ${renderSamples(data.samples, showToken)}
          </section>
          <section>
            <h2>Time</h2>
            ${renderTime(data.spans, data.account.events)}
          </section>
          <section>
            <h2>Faults survived</h2>
            ${renderFaults(data.account, data.entries)}
          </section>
          <section>
            <h2>Configuration</h2>
            ${renderConfiguration(data.recipe, data.entries)}
          </section>
        </main>
        <script>
          ${trustedHtml(library.script)};
        </${script}>
        <script>
          const charts = ${scriptJson(data.charts)};
          ${trustedHtml(reportScript)};
        </${script}>
      </body>
    </html> `.text;
}
