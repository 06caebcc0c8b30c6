/**
 * The style sheet of a report. Colours are Okabe and Ito's, told apart by readers with any colour vision; they are
 * variables, so that light and dark differ in one place.
 */
export const reportStyle = `
:root {
  --ground: #fcfcfb; --panel: #ffffff; --ink: #1d2125; --quiet: #667079; --rule: #e2e5e8; --grid: #eceff1;
  --line-0: #0072b2; --line-1: #d55e00; --surprise-ink: #e69f00;
  --phase-0: #cc79a7; --phase-1: #999999; --phase-2: #0072b2; --phase-3: #f0e442; --phase-4: #d55e00;
  --phase-5: #e69f00; --phase-6: #56b4e9; --phase-7: #7a5c3e; --phase-8: #009e73; --between: #d5dade;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #15181b; --panel: #1c2024; --ink: #e7eaed; --quiet: #98a2ab; --rule: #31373d; --grid: #282d32;
    --line-0: #56b4e9; --line-1: #e69f00; --surprise-ink: #d55e00; --phase-2: #56b4e9;
    --phase-6: #0072b2; --between: #3a4148;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 40px 28px 80px; }
h1 { font-size: 30px; line-height: 1.2; margin: 2px 0 0; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 21px; margin: 56px 0 14px; padding-top: 18px; border-top: 1px solid var(--rule); }
h3 { font-size: 15.5px; margin: 0; }
h3 small { font-weight: 400; color: var(--quiet); margin-left: 6px; }
.eyebrow { margin: 0; color: var(--quiet); font-size: 13px; }
.quiet, .explanation, .fact p, figcaption p { color: var(--quiet); }
.explanation { max-width: 80ch; }
.status { font-size: 13px; font-weight: 600; vertical-align: middle; padding: 3px 10px; border-radius: 99px;
  border: 1px solid currentColor; letter-spacing: 0; }
.status-completed { color: #009e73; } .status-running { color: var(--line-0); }
.status-stopped { color: var(--quiet); } .status-failed { color: #d55e00; }
.reason { margin: 10px 0 0; padding: 8px 12px; border-left: 3px solid #d55e00; background: var(--panel); }
.facts { display: grid; grid-template-columns: 1.6fr 1fr 1fr 1fr; gap: 14px; margin: 24px 0 0; }
.fact { background: var(--panel); border: 1px solid var(--rule); border-radius: 10px; padding: 14px 16px; }
.fact dt { color: var(--quiet); font-size: 13px; }
.fact dd { margin: 2px 0 0; font-size: 25px; font-weight: 600; font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere; }
.fact p { margin: 2px 0 0; font-size: 12.5px; } .arrow { color: var(--quiet); font-weight: 400; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); gap: 16px; }
figure { margin: 0; min-width: 0; background: var(--panel); border: 1px solid var(--rule); border-radius: 10px;
  padding: 16px 16px 8px; }
figcaption p { margin: 2px 0 8px; font-size: 13px; min-height: 2.9em; }
.chart { min-height: 262px; } .u-legend { font-size: 12.5px; } .u-legend th, .u-legend td { border: 0; padding: 4px; color: var(--ink); } .u-legend .u-value { font-variant-numeric: tabular-nums; }
.u-cursor-x, .u-cursor-y { border-color: var(--quiet) !important; }
section > h3 { margin: 24px 0 8px; }
.samples { display: grid; gap: 10px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); }
.sample { background: var(--panel); border: 1px solid var(--rule); border-radius: 10px; padding: 10px 14px; }
.sample-facts { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 13px; margin-bottom: 6px; }
.reward { font-variant-numeric: tabular-nums; }
.tokens { font: 15px/1.75 ui-monospace, "SF Mono", Menlo, Consolas, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.turn { display: block; color: var(--quiet); font-size: 0.8em; }
.prompt { color: var(--quiet); } .more { color: var(--quiet); font-style: italic; }
.token { position: relative; padding: 1px 0; border-radius: 3px; box-shadow: inset 0 -2px 0 var(--rule);
  background: color-mix(in srgb, var(--surprise-ink) var(--surprise), transparent); }
.token + .token { margin-left: 1px; }
.token:hover { outline: 1.5px solid var(--ink); }
[data-tip]:hover::after { content: attr(data-tip); position: absolute; left: 0; top: calc(100% + 6px); z-index: 2;
  background: var(--ink); color: var(--ground); font: 12.5px/1.4 system-ui, sans-serif; padding: 4px 9px;
  border-radius: 6px; white-space: pre; pointer-events: none; }
.token-legend { display: inline-flex; align-items: center; gap: 6px; font-size: 12.5px; margin: 0 4px; }
.token-legend i { width: 90px; height: 12px; border-radius: 3px; border: 1px solid var(--rule);
  background: linear-gradient(to right, transparent, var(--surprise-ink)); }
.stack { display: flex; height: 26px; } .stack i { position: relative; min-width: 1px; }
.stack i:first-child { border-radius: 6px 0 0 6px; } .stack i:last-child { border-radius: 0 6px 6px 0; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 22px; margin: 12px 0 0; padding: 0;
  font-size: 13.5px; font-variant-numeric: tabular-nums; }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 7px;
  vertical-align: -1px; }
.phase-0 { background: var(--phase-0); fill: var(--phase-0); } .phase-1 { background: var(--phase-1); fill: var(--phase-1); }
.phase-2 { background: var(--phase-2); fill: var(--phase-2); } .phase-3 { background: var(--phase-3); fill: var(--phase-3); }
.phase-4 { background: var(--phase-4); fill: var(--phase-4); } .phase-5 { background: var(--phase-5); fill: var(--phase-5); }
.phase-6 { background: var(--phase-6); fill: var(--phase-6); } .phase-7 { background: var(--phase-7); fill: var(--phase-7); }
.phase-8 { background: var(--phase-8); fill: var(--phase-8); }
.phase-between { background: var(--between); fill: var(--between); }
.timeline { width: 100%; height: auto; font: 12px system-ui, sans-serif; } .timeline text { fill: var(--quiet); }
.fault-mark { fill: var(--ink); stroke: var(--ground); stroke-width: 1; }
.timeline .grid { stroke: var(--rule); stroke-width: 1; }
table { border-collapse: collapse; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 5px 18px 5px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
thead th { color: var(--quiet); font-weight: 500; } .number { text-align: right; }
.scroll { overflow-x: auto; } code, pre { font: 12.5px/1.55 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { background: var(--panel); border: 1px solid var(--rule); border-radius: 10px; padding: 14px 18px;
  overflow-x: auto; }
summary { cursor: pointer; margin: 10px 0; font-weight: 500; }
@media (max-width: 760px) { .facts { grid-template-columns: 1fr 1fr; } main { padding: 24px 16px; } }
`;
