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
