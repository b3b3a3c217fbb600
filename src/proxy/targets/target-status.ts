/** What an operator is told of each target: one row an address. */
import type { Endpoint, EndpointState, LastFailure } from './endpoint.js';
import type { Target } from './target.js';

export interface TargetStatus {
  readonly service: string;
  /** Origin and path, as they are configured. */
  readonly target: string;
  /** Where its name leads to; null where the target is no name, or has not been resolved yet. */
  readonly address: string | null;
  readonly state: EndpointState;
  readonly inFlight: number;
  /** Milliseconds since the epoch; null: not ejected. */
  readonly ejectedUntilMs: number | null;
  /** The last call that failed, by outcome and status of the backend (0: none); milliseconds since the epoch. */
  readonly lastFailure: (Pick<LastFailure, 'outcome' | 'status'> & { readonly atMs: number }) | null;
}

/** A row as all processes of a gateway see it: its state is the worst of them. */
export interface MergedTargetStatus extends TargetStatus {
  /** How many processes see it in which state. */
  readonly processes: StateCounts;
}

/** STATES has what a target can be in, from good to bad. */
export const STATES = ['healthy', 'failing', 'ejected', 'unhealthy'] as const satisfies readonly EndpointState[];

type StateCounts = Readonly<Record<EndpointState, number>>;

/** The rows of several processes, one an address, in the order of the first. */
export function mergeTargets(views: readonly (readonly TargetStatus[])[]): MergedTargetStatus[] {
  return mergeRows(
    views.map((rows) =>
      rows.map((row) => ({ ...row, processes: countStates((state) => (state === row.state ? 1 : 0)) })),
    ),
  );
}

/** The rows of several gateways, likewise. */
export function mergeRows(views: readonly (readonly MergedTargetStatus[])[]): MergedTargetStatus[] {
  const merged = new Map<string, MergedTargetStatus>();
  for (const row of views.flat()) {
    const key = addressKey(row);
    const before = merged.get(key);
    merged.set(key, before === undefined ? row : worseOf(before, row));
  }
  return [...merged.values()];
}

/** The same text for every view of one address. */
export function addressKey({ service, target, address }: TargetStatus): string {
  return JSON.stringify([service, target, address]);
}

function countStates(countOf: (state: EndpointState) => number): StateCounts {
  const [healthy, failing, ejected, unhealthy] = STATES.map(countOf);
  return { healthy: healthy ?? 0, failing: failing ?? 0, ejected: ejected ?? 0, unhealthy: unhealthy ?? 0 };
}

function worseOf(before: MergedTargetStatus, row: MergedTargetStatus): MergedTargetStatus {
  return {
    ...before,
    state: STATES.indexOf(row.state) > STATES.indexOf(before.state) ? row.state : before.state,
    inFlight: before.inFlight + row.inFlight,
    ejectedUntilMs: Math.max(before.ejectedUntilMs ?? 0, row.ejectedUntilMs ?? 0) || null,
    lastFailure: (row.lastFailure?.atMs ?? 0) > (before.lastFailure?.atMs ?? 0) ? row.lastFailure : before.lastFailure,
    processes: countStates((state) => before.processes[state] + row.processes[state]),
  };
}

/** Names of the services that cannot serve, as one process sees them. */
export interface LostServices {
  /** No target is in service. */
  readonly withoutTarget: readonly string[];
  /** Every call fails, and targets stay in service. */
  readonly failing: readonly string[];
}

/** Finds the services that have no healthy target. */
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

/** The rows of one service. */
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
