/** What `/readyz` says of this process, of its workers and of what they stand on. */
import type { Readiness, ReadinessCheck } from './admin/admin-dependencies.js';
import type { DatabaseState } from './database/database-health.js';
import { servicesWithoutTarget } from './proxy/target-status.js';
import { formatWithOffset } from './rfc3339.js';
import type { WorkerState } from './workers/messages.js';
import type { PoolState } from './workers/worker-pool.js';

/**
 * Ready from when requests are taken until the shutdown begins, and not while workers are asked for and none is there; whatever else is
 * wrong is a warning. Says what is known and asks nobody: a load balancer takes a late response for none.
 * @param life whether the program has started, and whether it ends.
 * @param own how this process sees what it stands on.
 * @param workers undefined: the gateway runs in this process, or not at all.
 * @param forwards whether this process or its workers have backends.
 */
export function readiness(
  life: ReadinessCheck,
  database: DatabaseState,
  own: WorkerState,
  workers: PoolState | undefined,
  forwards: boolean,
): Readiness {
  const states = [own, ...(workers?.states ?? [])];
  return {
    ready: life.status === 'pass' && workers?.ready !== 0,
    checks: {
      process: life,
      database: databaseCheck(database),
      quota_store: quotaStoreCheck(states),
      log: logCheck(states),
      ...(workers === undefined ? {} : { workers: workersCheck(workers) }),
      ...(forwards ? { backends: backendsCheck(workers?.states ?? [own]) } : {}),
    },
  };
}

/** @param hasStarted whether every listener takes requests. */
export function lifeCheck(hasStarted: boolean, isEnding: boolean): ReadinessCheck {
  if (isEnding) return { status: 'fail', detail: 'shutting down' };
  return hasStarted ? { status: 'pass' } : { status: 'fail', detail: 'starting' };
}

function databaseCheck(state: DatabaseState): ReadinessCheck {
  if (state.kind === 'up') return { status: 'pass' };
  const since = formatWithOffset(state.sinceMs, 'UTC');
  return {
    status: 'warn',
    detail:
      state.kind === 'unreachable'
        ? `unreachable since ${since}: known keys go on, unknown keys and the admin API get 503`
        : `takes no writes since ${since} (${state.cause}): requests go on, usage waits in memory, changes get 503`,
  };
}

function quotaStoreCheck(states: readonly WorkerState[]): ReadinessCheck {
  const lost = states.flatMap(({ quotaStoreLostSinceMs }) => quotaStoreLostSinceMs ?? []);
  if (lost.length === 0) return { status: 'pass' };
  const since = formatWithOffset(Math.min(...lost), 'UTC');
  return { status: 'warn', detail: `Redis is lost since ${since}${inSome(lost, states)}: plans decide by onRedisLoss` };
}

function logCheck(states: readonly WorkerState[]): ReadinessCheck {
  const losses = states.flatMap(({ logLoss }) => logLoss ?? []);
  const [first] = losses.toSorted((a, b) => a.sinceMs - b.sinceMs);
  if (first === undefined) return { status: 'pass' };
  const since = formatWithOffset(first.sinceMs, 'UTC');
  const what = first.isForGood ? 'its lines are dropped and counted' : 'its lines wait, up to 16 MiB';
  return {
    status: 'warn',
    detail: `the log cannot be written since ${since} (${first.cause})${inSome(losses, states)}: ${what}`,
  };
}

/** Nothing where it is so in all of them. */
function inSome(some: readonly unknown[], states: readonly WorkerState[]): string {
  return some.length === states.length ? '' : ` in ${some.length} of ${states.length} processes`;
}

function workersCheck({ ready, count, silent }: PoolState): ReadinessCheck {
  if (ready === count && silent === 0) return { status: 'pass' };
  const unanswered = silent === 0 ? '' : `, ${silent} of them ${silent === 1 ? 'does' : 'do'} not respond`;
  return {
    status: ready === 0 ? 'fail' : 'warn',
    detail: `${ready} of ${count} worker processes accept connections${unanswered}`,
  };
}

/** One process that has no target refuses what it is asked, whatever the others see. */
function backendsCheck(states: readonly WorkerState[]): ReadinessCheck {
  const processes = new Map<string, number>();
  for (const name of states.flatMap(({ targets }) => servicesWithoutTarget(targets))) {
    processes.set(name, (processes.get(name) ?? 0) + 1);
  }
  if (processes.size === 0) return { status: 'pass' };
  const names = [...processes].map(([name, lost]) =>
    lost === states.length ? name : `${name} (${lost} of ${states.length} processes)`,
  );
  return { status: 'warn', detail: `no target is in service: ${names.join(', ')}` };
}
