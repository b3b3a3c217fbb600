/**
 * Chooses the address for a call: the less loaded of two random healthy addresses. An address that fails several times
 * in a row, or much more often than the others, is ejected for a while. Then a single call, the probe, tests it. The
 * address returns when the probe succeeds and its health check passes. If no address is left, only probes are sent.
 */
import type { Endpoint } from './endpoint.js';
import { failsTooOften, DEFAULT_EJECTION, type EjectionSettings } from './ejection.js';
import type { UpstreamOutcome } from './upstream-errors.js';

/** Time until the first probe if no other address is left. Doubled after each failed probe. */
const PROBE_INTERVAL_MS = 1_000;
/** Upper limit for that time. Nothing is served meanwhile. */
const LONGEST_PROBE_INTERVAL_MS = 4_000;
/** How long a due probe waits for a repeatable request before any other request is used. */
const PROBE_PATIENCE_MS = 10_000;

/** Result of a call for the health of its target. `none` says nothing about it. */
export type Verdict = 'good' | 'bad' | 'none';

/** The part of a call that the choice depends on. */
interface Choosing {
  readonly isRepeatable: boolean;
}

export class Balancer {
  /** Addresses in service, from which `pickEndpoint` chooses. */
  available: readonly Endpoint[] = [];
  private endpoints: readonly Endpoint[] = [];
  private nextProbeMs = Infinity;

  /**
   * Creates a balancer without addresses.
   * @param ejection undefined applies the defaults to services with several addresses. A single one is then never
   *   ejected.
   * @param onChange called after an address was ejected, readmitted, or changed its health check result.
   */
  constructor(
    private readonly ejection: EjectionSettings | undefined,
    private readonly onChange: (endpoint: Endpoint) => void,
  ) {}

  /** Replaces the addresses. */
  setEndpoints(endpoints: readonly Endpoint[]): void {
    this.endpoints = endpoints;
    this.rebuild();
  }

  /** Returns the address for a new call, or undefined if none is in service or all connections are busy. */
  pickEndpoint(call: Choosing, nowMs: number): Endpoint | undefined {
    if (nowMs >= this.nextProbeMs) {
      const probed = this.probe(call, nowMs);
      if (probed !== undefined) return probed;
    }
    const { available } = this;
    const count = available.length;
    const first = available[count < 2 ? 0 : Math.trunc(Math.random() * count)];
    if (first === undefined || count === 1) return first?.isFull === true ? undefined : first;
    const chosen = lessLoaded(first, other(available, first));
    return chosen.isFull ? leastLoaded(available, undefined) : chosen;
  }

  /** Returns another address in service with a free connection, for a call that failed at `failed`. */
  pickOther(failed: Endpoint): Endpoint | undefined {
    return leastLoaded(this.available, failed);
  }

  /** Returns the time until a call can succeed at the earliest, if nothing is in service. */
  retryAfterMs(nowMs: number): number {
    return Math.max(0, Math.min(...this.endpoints.map((endpoint) => chanceMs(endpoint))) - nowMs);
  }

  /** Records the result of a call. May eject or readmit the address. */
  recordVerdict(endpoint: Endpoint, call: object, verdict: Verdict, nowMs: number): void {
    if (endpoint.probe === call) {
      endpoint.probe = undefined;
      if (verdict === 'good') endpoint.readmit(nowMs);
      else if (verdict === 'bad') this.failProbe(endpoint, nowMs);
      this.rebuild();
      if (verdict === 'good') this.onChange(endpoint);
    } else if (verdict === 'good') {
      endpoint.recordSuccess();
    } else if (verdict === 'bad') {
      // A stall of this process fails many calls in the same moment. It must not eject the last address.
      const isSameMoment = endpoint.failures > 0 && endpoint.failedMs === nowMs;
      if (isSameMoment && this.available.length === 1) return;
      endpoint.failedMs = nowMs;
      endpoint.failures++;
      if (endpoint.ejectedUntilMs > 0) return;
      if (!this.isTooMany(endpoint.failures) && !this.isOutlier(endpoint, nowMs)) return;
      this.eject(endpoint, nowMs);
      this.rebuild();
      this.onChange(endpoint);
    }
  }

  /** Records a health check result: a change, or a further success. */
  recordCheck(endpoint: Endpoint, passes: boolean, nowMs: number): void {
    const changed = endpoint.passesChecks !== passes;
    endpoint.passesChecks = passes;
    // A passing check alone does not end an ejection, since checks also passed while calls failed. A recovery does.
    if (passes && changed) endpoint.endEjectionEarly(nowMs);
    this.rebuild();
    if (changed) this.onChange(endpoint);
  }

  /** Whether ejection is enabled. */
  get ejects(): boolean {
    return this.ejection === undefined ? this.endpoints.length > 1 : this.ejection.failures > 0;
  }

  private isTooMany(failures: number): boolean {
    return this.ejects && failures >= (this.ejection ?? DEFAULT_EJECTION).failures;
  }

  /**
   * Reports whether an address fails far more often than the others, and at least half of all would remain in service.
   */
  private isOutlier(endpoint: Endpoint, nowMs: number): boolean {
    const others = this.available.filter((each) => each !== endpoint);
    if (!this.ejects || others.length === 0 || 2 * others.length < this.endpoints.length) return false;
    return failsTooOften(endpoint, others, this.ejection ?? DEFAULT_EJECTION, nowMs);
  }

  private eject(endpoint: Endpoint, nowMs: number): void {
    const { duration, longest } = this.ejection ?? DEFAULT_EJECTION;
    endpoint.eject(nowMs, duration, longest);
  }

  /**
   * Handles a failed probe. If the ejection had expired, a longer one begins. If it had not (last-resort probe), it
   * continues.
   */
  private failProbe(endpoint: Endpoint, nowMs: number): void {
    endpoint.tries++;
    if (endpoint.triedMs >= endpoint.ejectedUntilMs) this.eject(endpoint, nowMs);
    else endpoint.triedMs = nowMs;
  }

  /** Returns the ejected address that is due for a probe, if the call may be used for it. */
  private probe(call: Choosing, nowMs: number): Endpoint | undefined {
    // With other addresses in service, a failed probe must not cost the caller anything. The call must be repeatable,
    // and another address must have room for it.
    if (this.available.length > 0) {
      if (!call.isRepeatable && nowMs < this.nextProbeMs + PROBE_PATIENCE_MS) return undefined;
      if (leastLoaded(this.available, undefined) === undefined) return undefined;
    }
    const due = this.endpoints.find((endpoint) => nowMs >= this.dueMs(endpoint));
    if (due === undefined) return undefined;
    due.probe = call;
    due.triedMs = nowMs;
    this.rebuild();
    return due;
  }

  /** Returns when an address may be probed; Infinity for never. */
  private dueMs(endpoint: Endpoint): number {
    if (endpoint.state !== 'ejected' || endpoint.probe !== undefined) return Infinity;
    return this.available.length > 0 ? endpoint.ejectedUntilMs : lastResortMs(endpoint);
  }

  private rebuild(): void {
    this.available = this.endpoints.filter(({ isAvailable }) => isAvailable);
    this.nextProbeMs = Math.min(...this.endpoints.map((endpoint) => this.dueMs(endpoint)));
  }
}

/** Returns what the result of a call says about its target. Faults of the client or the gateway say nothing. */
export function verdictOf(outcome: UpstreamOutcome, status: number): Verdict {
  switch (outcome) {
    case 'answered':
      return status >= 502 && status <= 504 ? 'bad' : 'good';
    case 'moved':
    case 'client_gone':
    case 'client_too_slow':
    case 'access_ended':
    case 'request_too_large':
    case 'out_of_resources':
    case 'out_of_ports':
      return 'none';
    default:
      return 'bad';
  }
}

/** Returns when an ejected address is probed if no other is left. */
function lastResortMs({ ejectedUntilMs, triedMs, tries }: Endpoint): number {
  const pauseMs = Math.min(PROBE_INTERVAL_MS * 2 ** tries, LONGEST_PROBE_INTERVAL_MS);
  return Math.min(ejectedUntilMs, triedMs + pauseMs);
}

/** Returns when an address can be used again at the earliest, if no other is left. */
function chanceMs(endpoint: Endpoint): number {
  const { passesChecks, checksPassFromMs, ejectedUntilMs, probe } = endpoint;
  const byChecksMs = passesChecks ? 0 : checksPassFromMs;
  // A probe in progress can succeed at any moment.
  return ejectedUntilMs === 0 || probe !== undefined ? byChecksMs : Math.max(byChecksMs, lastResortMs(endpoint));
}

/** Returns a random element other than `one`, from at least two. */
function other(endpoints: readonly Endpoint[], one: Endpoint): Endpoint {
  const at = endpoints.indexOf(one);
  const step = endpoints.length === 2 ? 1 : 1 + Math.trunc(Math.random() * (endpoints.length - 1));
  return endpoints[(at + step) % endpoints.length] ?? one;
}

function lessLoaded(one: Endpoint, two: Endpoint): Endpoint {
  return two.inFlight < one.inFlight ? two : one;
}

function leastLoaded(endpoints: readonly Endpoint[], without: Endpoint | undefined): Endpoint | undefined {
  let best: Endpoint | undefined;
  for (const endpoint of endpoints) {
    if (endpoint === without || endpoint.isFull) continue;
    if (best === undefined || endpoint.inFlight < best.inFlight) best = endpoint;
  }
  return best;
}
