/** The faults other than a death. */
import type { OtherFault } from './other-fault.ts';
import { droppedConnections, lostDatabase, serverAway } from './server-faults.ts';
import { failedWrites, movedClocks, zombie } from './worker-faults.ts';

/** `awaySeconds`: how long the server is away, where that is the fault. */
export function coveringFaults(awaySeconds: number): OtherFault[] {
  return [
    zombie('updateActor', 'before-result', 'shard'),
    serverAway(awaySeconds),
    droppedConnections,
    failedWrites,
    lostDatabase,
    movedClocks,
  ];
}

export function allFaults(awaySeconds: number): OtherFault[] {
  return [
    ...coveringFaults(awaySeconds),
    zombie('commitVersion', 'before-commit', 'shard'),
    zombie('rolloutShard', 'before-artifact', 'shard'),
    zombie('agentTurn', 'before-result', 'turn'),
  ];
}
