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
  readonly processes: Readonly<Record<EndpointState, number>>;
}

/** STATES has what a target can be in, from good to bad. */
export const STATES: readonly EndpointState[] = ['healthy', 'ejected', 'unhealthy'];

/** The rows of several processes, one an address, in the order of the first. */
export function mergeTargets(views: readonly (readonly TargetStatus[])[]): MergedTargetStatus[] {
  return mergeRows(
    views.map((rows) =>
      rows.map((row) => ({ ...row, processes: { healthy: 0, ejected: 0, unhealthy: 0, [row.state]: 1 } })),
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

function worseOf(before: MergedTargetStatus, row: MergedTargetStatus): MergedTargetStatus {
  const { healthy, ejected, unhealthy } = before.processes;
  return {
    ...before,
    state: STATES.indexOf(row.state) > STATES.indexOf(before.state) ? row.state : before.state,
    inFlight: before.inFlight + row.inFlight,
    ejectedUntilMs: Math.max(before.ejectedUntilMs ?? 0, row.ejectedUntilMs ?? 0) || null,
    lastFailure: (row.lastFailure?.atMs ?? 0) > (before.lastFailure?.atMs ?? 0) ? row.lastFailure : before.lastFailure,
    processes: {
      healthy: healthy + row.processes.healthy,
      ejected: ejected + row.processes.ejected,
      unhealthy: unhealthy + row.processes.unhealthy,
    },
  };
}

/** Names of the services that have no target in service, as one process sees them. */
export function servicesWithoutTarget(rows: readonly TargetStatus[]): string[] {
  const names = [...new Set(rows.map(({ service }) => service))];
  return names.filter((name) => !rows.some(({ service, state }) => service === name && state === 'healthy'));
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
