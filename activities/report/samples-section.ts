/** Sample trajectories: the prompt as the policy saw it, then each sampled token, shaded by how unlikely it was. */
import type { Trajectory, Turn } from '../../core/records.ts';
import { formatNumber } from './format.ts';
import { html, type Html } from './html.ts';
import type { IterationSamples } from './samples.ts';

/** Tokens shown of one turn; the rest is counted. */
const tokenLimit = 1500;

/** How a token id reads, e.g. `7` or `\n`. */
export type ShowToken = (id: number) => string;

function renderToken(id: number, logprob: number, showToken: ShowToken): Html {
  const probability = Math.exp(logprob);
  const label = `“${showToken(id)}”  probability ${formatNumber(probability)}  log-prob ${formatNumber(logprob)}`;
  const surprise = Math.round((1 - probability) * 100);
  return html`<span class="token" style="--surprise:${surprise}%" data-tip="${label}"
    >${showToken(id)}</span
  >`;
}

function more(count: number): Html[] {
  return count > 0 ? [html`<span class="more">… ${count} more tokens</span>`] : [];
}

function renderTurn(turn: Turn, number: number, showToken: ShowToken): Html {
  const observation = turn.observationIds.slice(0, tokenLimit).map(showToken).join('');
  const response = turn.responseIds
    .slice(0, tokenLimit)
    .map((id, i) => renderToken(id, turn.logprobs[i] ?? 0, showToken));
  const heading = number === 0 ? [] : [html`<span class="turn">turn ${number + 1}</span>`];
  return html`${heading}<span class="prompt">${observation}</span
    >${more(turn.observationIds.length - tokenLimit)}${response}${more(turn.responseIds.length - tokenLimit)}`;
}

function renderTrajectory(trajectory: Trajectory, showToken: ShowToken): Html {
  const sources = Object.entries(trajectory.rewards)
    .map(([source, reward]) => `${source} ${formatNumber(reward)}`)
    .join(', ');
  const tokens = trajectory.turns.reduce((sum, turn) => sum + turn.responseIds.length, 0);
  return html`<article class="sample">
    <div class="sample-facts">
      <b class="reward">reward ${formatNumber(trajectory.reward)}</b>
      <span>${trajectory.outcome}</span>
      <span
        >${tokens} tokens${trajectory.turns.length > 1 ? ` in ${trajectory.turns.length} turns` : ''}</span
      >
      <span>${sources}</span>
      <span class="quiet">${trajectory.taskId}, sample ${trajectory.sample}</span>
    </div>
    <div class="tokens">${trajectory.turns.map((turn, number) => renderTurn(turn, number, showToken))}</div>
  </article>`;
}

/** Renders the samples of each chosen iteration, with a legend of the shading. */
export function renderSamples(iterations: IterationSamples[], showToken: ShowToken): Html {
  if (iterations.length === 0) return html`<p class="quiet">No trajectories were committed.</p>`;
  const blocks = iterations.map(
    ({ iteration, version, samples }) =>
      html`<h3>Iteration ${iteration} <small>sampled by policy version ${version}</small></h3>
        <div class="samples">${samples.map((sample) => renderTrajectory(sample, showToken))}</div>`,
  );
  return html`<p class="explanation">
      The best and worst rewarded samples of the first, middle and last iteration. Prompts are grey; each
      sampled token is shaded by its probability under the policy that sampled it:
      <span class="token-legend"><span>certain</span><i></i><span>unlikely</span></span> Point at a token for
      its numbers.
    </p>
    ${blocks}`;
}
