/** Reports the status of targets to operators, with one row per address. */
import type { Endpoint, EndpointState, LastFailure } from './endpoint.js';
import type { Target } from './target.js';

/** The status of one address, as one process sees it. */
export interface TargetStatus {
  readonly service: string;
  /** Configured origin and path. */
  readonly target: string;
  /** Resolved address; null if the target is no host name, or its name is not resolved yet. */
  readonly address: string | null;
  readonly state: EndpointState;
  /** Number of calls in progress. */
  readonly inFlight: number;
  /** End of the ejection in milliseconds since the epoch; null if not ejected. */
  readonly ejectedUntilMs: number | null;
  /** The latest failed call; null if none failed. `status` is 0 without a response. `atMs` is since the epoch. */
  readonly lastFailure: (Pick<LastFailure, 'outcome' | 'status'> & { readonly atMs: number }) | null;
}

/** The status of one address, merged over all processes. Its state is the worst state of any process. */
export interface MergedTargetStatus extends TargetStatus {
  /** Number of processes by state. */
  readonly processes: StateCounts;
}

/** STATES lists the states of a target, from best to worst. */
export const STATES = ['healthy', 'failing', 'ejected', 'unhealthy'] as const satisfies readonly EndpointState[];

type StateCounts = Readonly<Record<EndpointState, number>>;

/** Merges the rows of several processes into one row per address. Keeps the order in which addresses first occur. */
export function mergeTargets(views: readonly (readonly TargetStatus[])[]): MergedTargetStatus[] {
  return mergeRows(
    views.map((rows) =>
      rows.map((row) => ({ ...row, processes: countStates((state) => (state === row.state ? 1 : 0)) })),
    ),
  );
}

/** Merges the rows of several gateways, already merged over their processes, into one row per address. */
export function mergeRows(views: readonly (readonly MergedTargetStatus[])[]): MergedTargetStatus[] {
  const merged = new Map<string, MergedTargetStatus>();
  for (const row of views.flat()) {
    const key = addressKey(row);
    const before = merged.get(key);
    merged.set(key, before === undefined ? row : mergeTwo(before, row));
  }
  return [...merged.values()];
}

/** Returns a key that is equal for all rows of one address. */
export function addressKey({ service, target, address }: TargetStatus): string {
  return JSON.stringify([service, target, address]);
}

function countStates(countOf: (state: EndpointState) => number): StateCounts {
  const [healthy, failing, ejected, unhealthy] = STATES.map(countOf);
  return { healthy: healthy ?? 0, failing: failing ?? 0, ejected: ejected ?? 0, unhealthy: unhealthy ?? 0 };
}

/** Merges two rows of the same address. */
function mergeTwo(before: MergedTargetStatus, row: MergedTargetStatus): MergedTargetStatus {
  return {
    ...before,
    state: STATES.indexOf(row.state) > STATES.indexOf(before.state) ? row.state : before.state,
    inFlight: before.inFlight + row.inFlight,
    ejectedUntilMs: Math.max(before.ejectedUntilMs ?? 0, row.ejectedUntilMs ?? 0) || null,
    lastFailure: (row.lastFailure?.atMs ?? 0) > (before.lastFailure?.atMs ?? 0) ? row.lastFailure : before.lastFailure,
    processes: countStates((state) => before.processes[state] + row.processes[state]),
  };
}

/** Names of unavailable services, as one process sees them. */
export interface LostServices {
  /** Services without a target in service. */
  readonly withoutTarget: readonly string[];
  /** Services whose latest calls all failed, although targets are in service. */
  readonly failing: readonly string[];
}

/** Finds the services that have no healthy target, and groups them by cause. */
export function findLostServices(rows: readonly TargetStatus[]): LostServices {
  const names = [...new Set(rows.map(({ service }) => service))];
  const has = (name: string, wanted: EndpointState): boolean =>
    rows.some(({ service, state }) => service === name && state === wanted);
  const lost = names.filter((name) => !has(name, 'healthy'));
  return {
    withoutTarget: lost.filter((name) => !has(name, 'failing')),
    failing: lost.filter((name) => has(name, 'failing')),
  };
}

/** Returns one row per address of a service. @param nowMs current time in milliseconds since the epoch. */
export function targetStates(
  { name, targets }: { readonly name: string; readonly targets: readonly Target[] },
  nowMs: number,
): TargetStatus[] {
  const epochMs = nowMs - performance.now();
  return targets.flatMap(({ endpoints }) => endpoints.map((endpoint) => statusOf(name, endpoint, epochMs)));
}

function statusOf(service: string, endpoint: Endpoint, epochMs: number): TargetStatus {
  const { target, address, state, inFlight, ejectedUntilMs, lastFailure } = endpoint;
  return {
    service,
    target,
    address: address?.address ?? null,
    state,
    inFlight,
    ejectedUntilMs: ejectedUntilMs === 0 ? null : Math.round(epochMs + ejectedUntilMs),
    lastFailure: lastFailure === undefined ? null : { ...lastFailure, atMs: Math.round(epochMs + lastFailure.atMs) },
  };
}
