import { expect, it } from 'vitest';
import { initialEntry } from '../../core/policy.ts';
import type { Fault } from '../../store/fault-account.ts';
import { renderFaults } from './faults-section.ts';

const nothing = {
  ...{ events: [], faults: {}, retries: {}, recoverySeconds: [] },
  ...{ lostTokens: 0, lostTrajectorySeconds: 0, lostUpdateSeconds: 0 },
};
const fault: Fault = {
  ...{ kind: 'worker-killed', at: 0, process: 'rollout@a', detail: 'SIGKILL', attempts: [] },
  ...{ lostTokens: 1200, lostTrajectorySeconds: 90, lostUpdateSeconds: 0, recoverySeconds: 4.5 },
};

it('counts faults of journals with what had to be done again, and those of the log', () => {
  const entry = {
    ...initialEntry('sums', { hash: 'sha256:0', size: 1, mediaType: 'x' }),
    ...{ update: 'refused' as const, outcomes: { 'infra-failed': 3 } },
  };
  const events = [fault, { ...fault, lostTokens: 34, recoverySeconds: null }];
  const { text } = renderFaults({ ...nothing, events, retries: { agentTurn: 2 } }, [entry]);
  expect(text).toMatch(/refused update<\/th>\s*<td class="number">1</);
  expect(text).toMatch(/infra-failed episode<\/th>\s*<td class="number">3</);
  expect(text).toMatch(/worker killed<\/th>\s*<td class="number">2<\/td>\s*<td>1,234 tokens, 3 min 00 s of/);
  expect(text).toContain('Repeated attempts: agentTurn 2.');
  expect(text).toMatch(/rollout@a<\/td>\s*<td>SIGKILL/);
});

it('says so when there was none', () => {
  expect(renderFaults(nothing, []).text).toContain('None: nothing died');
});
