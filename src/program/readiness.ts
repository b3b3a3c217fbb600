/** Computes the response of `/readyz` for this process, its workers and their dependencies. */
import type { Readiness, ReadinessCheck } from '../admin/request/admin-dependencies.js';
import type { DatabaseState } from '../stores/database/database-health.js';
import type { KnownNodeStatus } from '../nodes/node-status.js';
import { findLostServices, type LostServices } from '../proxy/targets/target-status.js';
import { formatWithOffset } from '../platform/rfc3339.js';
import type { WorkerState } from './workers/messages.js';
import type { PoolState } from './workers/worker-pool.js';

/** Time without a status report after which a gateway counts as silent. Gateways publish every two to six seconds. */
const QUIET_MS = 10_000;

/** Known is the state from which the readiness is computed. */
export interface Known {
  /** Result of `lifeCheck`: whether the program is starting, running or shutting down. */
  readonly life: ReadinessCheck;
  readonly database: DatabaseState;
  /** State of this process. */
  readonly own: WorkerState;
  /** State of the worker processes. Undefined if there are none. */
  readonly workers: PoolState | undefined;
  /** Name of the store of shared counters, for texts. The default is "Redis". */
  readonly countersName?: string;
  /** Whether this process or its workers forward requests. */
  readonly forwards: boolean;
  /**
   * Status reports of the gateways, for a process without the gateway role. Undefined if this process receives none.
   */
  readonly gateways: readonly KnownNodeStatus[] | undefined;
}

/**
 * Returns the readiness. The process is not ready during the start and the shutdown, or if no worker is ready. Other
 * problems are warnings. Uses only known state, because load balancers time out.
 */
export function readiness({ life, database, own, workers, countersName, forwards, gateways }: Known): Readiness {
  const states = [own, ...(workers?.states ?? [])];
  return {
    ready: life.status === 'pass' && workers?.ready !== 0,
    checks: {
      process: life,
      database: databaseCheck(database),
      quota_store:
        gateways === undefined
          ? quotaStoreCheck(states, 'processes', countersName)
          : quotaStoreCheck([...states, ...gateways], 'nodes', countersName),
      log: logCheck(states),
      ...(workers === undefined ? {} : { workers: workersCheck(workers) }),
      ...(forwards ? { backends: backendsCheck(workers?.states ?? [own], 'processes') } : {}),
      ...(gateways === undefined ? {} : { gateways: gatewaysCheck(gateways) }),
      ...(gateways === undefined || gateways.length === 0 ? {} : { backends: backendsCheck(gateways, 'nodes') }),
    },
  };
}

/**
 * Returns the check of whether the program has started and is not shutting down.
 * @param hasStarted whether all listeners accept requests
 */
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
        ? `unreachable since ${since}: requests with cached keys continue, unknown keys and the admin API get 503`
        : `takes no writes since ${since} (${state.cause}): requests go on, usage waits in memory, changes get 503`,
  };
}

function quotaStoreCheck(
  states: readonly Pick<WorkerState, 'quotaStoreLostSinceMs'>[],
  unit: 'processes' | 'nodes',
  name = 'Redis',
): ReadinessCheck {
  const lost = states.flatMap(({ quotaStoreLostSinceMs }) => quotaStoreLostSinceMs ?? []);
  if (lost.length === 0) return { status: 'pass' };
  const since = formatWithOffset(Math.min(...lost), 'UTC');
  const where = inSome(lost, states, unit);
  return { status: 'warn', detail: `${name} is lost since ${since}${where}: plans decide by onRedisLoss` };
}

/**
 * Checks whether the known gateways still publish status reports. Gateways that have never published are unknown here.
 */
function gatewaysCheck(gateways: readonly KnownNodeStatus[]): ReadinessCheck {
  if (gateways.length === 0) return { status: 'warn', detail: 'no gateway has reported its status in the last minute' };
  const quiet = gateways.filter(({ ageMs }) => ageMs > QUIET_MS);
  if (quiet.length === 0) {
    const large = gateways.filter(({ targetsLeftOut }) => targetsLeftOut > 0);
    if (large.length === 0) return { status: 'pass' };
    const left = large.map(({ node, targetsLeftOut }) => `${targetsLeftOut} of ${node}`);
    return { status: 'pass', detail: `some targets are not published, because there are too many: ${left.join(', ')}` };
  }
  const names = quiet.map(({ node, ageMs }) => `${node} (${Math.round(ageMs / 1_000)} s)`);
  return { status: 'warn', detail: `no status received from ${names.join(', ')}` };
}

function logCheck(states: readonly WorkerState[]): ReadinessCheck {
  const losses = states.flatMap(({ logLoss }) => logLoss ?? []);
  const [first] = losses.toSorted((a, b) => a.sinceMs - b.sinceMs);
  if (first === undefined) return { status: 'pass' };
  const since = formatWithOffset(first.sinceMs, 'UTC');
  const loss = first.isForGood ? 'its lines are dropped and counted' : 'its lines wait, up to 16 MiB';
  return {
    status: 'warn',
    detail: `the log cannot be written since ${since} (${first.cause})${inSome(losses, states, 'processes')}: ${loss}`,
  };
}

/** Returns a text that says how many processes or nodes are affected, or '' if all are. */
function inSome(some: readonly unknown[], all: readonly unknown[], unit: string): string {
  return some.length === all.length ? '' : ` in ${some.length} of ${all.length} ${unit}`;
}

function workersCheck({ ready, count, silent }: PoolState): ReadinessCheck {
  if (ready === count && silent === 0) return { status: 'pass' };
  const unanswered = silent === 0 ? '' : `, ${silent} of them ${silent === 1 ? 'does' : 'do'} not respond`;
  return {
    status: ready === 0 ? 'fail' : 'warn',
    detail: `${ready} of ${count} worker processes accept connections${unanswered}`,
  };
}

/**
 * Checks that each service has a target in service, and that not all of its calls fail. A process without targets
 * refuses requests, even if other processes have targets.
 */
function backendsCheck(views: readonly Pick<WorkerState, 'targets'>[], unit: 'processes' | 'nodes'): ReadinessCheck {
  const lost = views.map(({ targets }) => findLostServices(targets));
  const details = [
    describeLostServices('no target is in service', lost, ({ withoutTarget }) => withoutTarget, unit),
    describeLostServices('every call fails', lost, ({ failing }) => failing, unit),
  ].filter((detail) => detail !== '');
  return details.length === 0 ? { status: 'pass' } : { status: 'warn', detail: details.join('; ') };
}

/** Describes one problem with the names of the affected services. Returns '' if no service has the problem. */
function describeLostServices(
  problem: string,
  lost: readonly LostServices[],
  namesOf: (view: LostServices) => readonly string[],
  unit: string,
): string {
  const lostIn = new Map<string, number>();
  for (const name of lost.flatMap(namesOf)) lostIn.set(name, (lostIn.get(name) ?? 0) + 1);
  const names = [...lostIn].map(([name, count]) =>
    count === lost.length ? name : `${name} (${count} of ${lost.length} ${unit})`,
  );
  return names.length === 0 ? '' : `${problem}: ${names.join(', ')}`;
}
