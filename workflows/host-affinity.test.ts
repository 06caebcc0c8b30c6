import { ActivityFailure, RetryState, TimeoutFailure, TimeoutType } from '@temporalio/common';
import { expect, test } from 'vitest';
import { HostAffinity } from './host-affinity.ts';

type Call = () => Promise<{ queue: string }>;

function timedOut(type: TimeoutType): ActivityFailure {
  const cause = new TimeoutFailure('activity', undefined, type);
  return new ActivityFailure('activity', 'agentTurn', '1', RetryState.TIMEOUT, undefined, cause);
}

/** Hosts that answer or not, and the queues that were asked, with the seconds that they were given. */
function hosts(first: string) {
  const asked: string[] = [];
  const answering: { anywhere: string; gone: Set<string>; failure: TimeoutType } = {
    ...{ anywhere: first, gone: new Set<string>(), failure: TimeoutType.SCHEDULE_TO_START },
  };
  const affinity = new HostAffinity<Call>(
    () => {
      asked.push('anywhere');
      return Promise.resolve({ queue: answering.anywhere });
    },
    (queue, seconds) => () => {
      asked.push(`${queue} ${seconds}`);
      return answering.gone.has(queue)
        ? Promise.reject(timedOut(answering.failure))
        : Promise.resolve({ queue });
    },
    5,
  );
  return { asked, answering, call: () => affinity.call((ask) => ask()) };
}

test('the first call goes anywhere, later ones to the host that answered', async () => {
  const { asked, call } = hosts('a');
  for (let i = 0; i < 3; i++) expect(await call()).toEqual({ queue: 'a' });
  expect(asked).toEqual(['anywhere', 'a 5', 'a 5']);
});

test('what nobody takes on the queue of a host goes anywhere, and stays with whoever answers there', async () => {
  const { asked, answering, call } = hosts('a');
  await call();
  answering.gone.add('a');
  answering.anywhere = 'b';
  for (let i = 0; i < 2; i++) expect(await call()).toEqual({ queue: 'b' });
  expect(asked).toEqual(['anywhere', 'a 5', 'anywhere', 'b 5']);
});

test('a host that turns out to be busy is given twice the time from then on, until another takes over', async () => {
  const { asked, answering, call } = hosts('a');
  await call();
  answering.gone.add('a');
  for (let i = 0; i < 2; i++) await call();
  answering.anywhere = 'b';
  for (let i = 0; i < 2; i++) await call();
  expect(asked.filter((one) => one !== 'anywhere')).toEqual(['a 5', 'a 10', 'a 20', 'b 5']);
});

test('any other failure is the caller’s, and nobody else is asked', async () => {
  const { asked, answering, call } = hosts('a');
  await call();
  answering.gone.add('a');
  answering.failure = TimeoutType.HEARTBEAT;
  await expect(call()).rejects.toBeInstanceOf(ActivityFailure);
  expect(asked).toEqual(['anywhere', 'a 5']);
});
