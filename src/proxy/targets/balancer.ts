/**
 * Chooses the address for a call: the less loaded of two random addresses in service. An address that fails several
 * times in a row, or much more often than the others, is ejected for a while. Then a single call, the probe, tests the
 * address. The address returns to service when the probe succeeds and the health check passes. If no address is in
 * service, only probes are sent.
 */
import type { Endpoint } from './endpoint.js';
import { failsTooOften, DEFAULT_EJECTION, type EjectionSettings } from './ejection.js';
import type { UpstreamOutcome } from './upstream-errors.js';

/** Time until the first probe if no other address is in service. Doubles after each failed probe. */
const PROBE_INTERVAL_MS = 1_000;
/** Maximum time between probes while no address is in service. Short, because the service is unavailable meanwhile. */
const LONGEST_PROBE_INTERVAL_MS = 4_000;
/** Maximum time that a due probe waits for a repeatable request. After that, the balancer uses any request. */
const PROBE_PATIENCE_MS = 10_000;

/** Verdict on the health of a target after a call. `none`: the result says nothing about the target. */
export type Verdict = 'good' | 'bad' | 'none';

/** The properties of a call that affect the choice. */
interface BalancedCall {
  readonly isRepeatable: boolean;
}

export class Balancer {
  /** Addresses in service, from which `pickEndpoint` chooses. */
  available: readonly Endpoint[] = [];
  private endpoints: readonly Endpoint[] = [];
  /** Time from which a probe is due, by the caller's clock; Infinity if none is planned. */
  private nextProbeMs = Infinity;

  /**
   * @param ejection settings; undefined for the defaults. With the defaults, a service's only address is never ejected.
   * @param onChange called after an address was ejected or readmitted, or after its health check result changed.
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

  /** Returns the address for a new call; undefined if no address is in service, or all connections are busy. */
  pickEndpoint(call: BalancedCall, nowMs: number): Endpoint | undefined {
    if (nowMs >= this.nextProbeMs) {
      const probed = this.probe(call, nowMs);
      if (probed !== undefined) return probed;
    }
    const { available } = this;
    const count = available.length;
    const first = available[count < 2 ? 0 : Math.trunc(Math.random() * count)];
    if (first === undefined || count === 1) return first?.isFull === true ? undefined : first;
    const chosen = lessLoaded(first, otherThan(available, first));
    return chosen.isFull ? leastLoaded(available, undefined) : chosen;
  }

  /**
   * Returns another address in service with a free connection, or undefined. @param failed address of the failed call.
   */
  pickOther(failed: Endpoint): Endpoint | undefined {
    return leastLoaded(this.available, failed);
  }

  /** Returns the milliseconds until a call can succeed at the earliest, if no address is in service. */
  retryAfterMs(nowMs: number): number {
    return Math.max(0, Math.min(...this.endpoints.map((endpoint) => earliestUseMs(endpoint))) - nowMs);
  }

  /** Records the result of a call. Can eject or readmit the address. */
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
      // A stall of this process fails many calls at the same time, and must not eject the last address.
      const isSameMoment = endpoint.failures > 0 && endpoint.failedMs === nowMs;
      if (isSameMoment && this.available.length === 1) return;
      endpoint.failedMs = nowMs;
      endpoint.failures++;
      if (endpoint.ejectedUntilMs > 0) return;
      if (!this.exceedsFailures(endpoint.failures) && !this.isOutlier(endpoint, nowMs)) return;
      this.eject(endpoint, nowMs);
      this.rebuild();
      this.onChange(endpoint);
    }
  }

  /** Records a health check result, which can be the same as before. */
  recordCheck(endpoint: Endpoint, passes: boolean, nowMs: number): void {
    const changed = endpoint.passesChecks !== passes;
    endpoint.passesChecks = passes;
    // Checks may have passed all the time while calls failed. So only a recovery of the check ends an ejection.
    if (passes && changed) endpoint.endEjectionEarly(nowMs);
    this.rebuild();
    if (changed) this.onChange(endpoint);
  }

  /** Whether ejection is enabled. */
  get ejects(): boolean {
    return this.ejection === undefined ? this.endpoints.length > 1 : this.ejection.failures > 0;
  }

  private exceedsFailures(failures: number): boolean {
    return this.ejects && failures >= (this.ejection ?? DEFAULT_EJECTION).failures;
  }

  /**
   * Reports whether an address fails far more often than the others. Returns false if ejection is disabled, or if less
   * than half of all addresses would remain in service.
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
   * Handles a failed probe. If the ejection had expired before the probe, a longer ejection begins. Otherwise the call
   * was a last-resort probe, and the ejection continues.
   */
  private failProbe(endpoint: Endpoint, nowMs: number): void {
    endpoint.tries++;
    if (endpoint.triedMs >= endpoint.ejectedUntilMs) this.eject(endpoint, nowMs);
    else endpoint.triedMs = nowMs;
  }

  /**
   * Returns the ejected address that is due for a probe, and makes the call its probe. Returns undefined if no address
   * is due, or if the caller could notice a failed probe.
   */
  private probe(call: BalancedCall, nowMs: number): Endpoint | undefined {
    // With other addresses in service, the caller must not notice a failed probe. So the call should be repeatable, and
    // another address must have a free connection for the retry.
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

  /**
   * Returns the time from which an address may be probed. Returns Infinity for an address that is not ejected, fails
   * its health check, or already has a probe.
   */
  private dueMs(endpoint: Endpoint): number {
    if (endpoint.state !== 'ejected' || endpoint.probe !== undefined) return Infinity;
    return this.available.length > 0 ? endpoint.ejectedUntilMs : lastResortMs(endpoint);
  }

  private rebuild(): void {
    this.available = this.endpoints.filter(({ isAvailable }) => isAvailable);
    this.nextProbeMs = Math.min(...this.endpoints.map((endpoint) => this.dueMs(endpoint)));
  }
}

/**
 * Evaluates the result of a call for its target. A response with status 502 to 504 counts as `bad`, any other response
 * as `good`. Faults of the client or the gateway, and calls that were moved, result in `none`.
 */
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

/** Returns the time of the next probe of an ejected address if no other address is in service. */
function lastResortMs({ ejectedUntilMs, triedMs, tries }: Endpoint): number {
  const pauseMs = Math.min(PROBE_INTERVAL_MS * 2 ** tries, LONGEST_PROBE_INTERVAL_MS);
  return Math.min(ejectedUntilMs, triedMs + pauseMs);
}

/** Returns the earliest time at which an address can be used again, if no other address is in service. */
function earliestUseMs(endpoint: Endpoint): number {
  const { passesChecks, checksPassFromMs, ejectedUntilMs, probe } = endpoint;
  const byChecksMs = passesChecks ? 0 : checksPassFromMs;
  // A probe in progress can succeed at any moment.
  return ejectedUntilMs === 0 || probe !== undefined ? byChecksMs : Math.max(byChecksMs, lastResortMs(endpoint));
}

/** Returns a random address other than `one`. Needs at least two addresses. */
function otherThan(endpoints: readonly Endpoint[], one: Endpoint): Endpoint {
  const at = endpoints.indexOf(one);
  const step = endpoints.length === 2 ? 1 : 1 + Math.trunc(Math.random() * (endpoints.length - 1));
  return endpoints[(at + step) % endpoints.length] ?? one;
}

function lessLoaded(one: Endpoint, two: Endpoint): Endpoint {
  return two.inFlight < one.inFlight ? two : one;
}

/**
 * Returns the least loaded address with a free connection, or undefined if there is none.
 * @param without address that is never returned; undefined to consider all
 */
function leastLoaded(endpoints: readonly Endpoint[], without: Endpoint | undefined): Endpoint | undefined {
  let best: Endpoint | undefined;
  for (const endpoint of endpoints) {
    if (endpoint === without || endpoint.isFull) continue;
    if (best === undefined || endpoint.inFlight < best.inFlight) best = endpoint;
  }
  return best;
}
