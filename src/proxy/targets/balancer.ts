/**
 * Chooses where a call goes: the less loaded of two random addresses, of those that are well. One that fails several
 * times in a row, or much more often than the others, is ejected for a while and then tried with a single call, the
 * probe: it is back when that succeeds and its health check passes as well. When none is left, nothing but probes goes
 * out.
 */
import type { Endpoint } from './endpoint.js';
import { failsTooOften, USUAL_EJECTION, type EjectionSettings } from './ejection.js';
import type { UpstreamOutcome } from './upstream-errors.js';

/** Until an address is probed while no other is left; twice as long after each that fails. */
const PROBE_INTERVAL_MS = 1_000;
/** The longest that this becomes: nobody is served meanwhile. */
const LONGEST_PROBE_INTERVAL_MS = 4_000;
/** How long a probe waits for a request that may be repeated, before any other has to do. */
const PROBE_PATIENCE_MS = 10_000;

/** How a call says of its target: well, not well, or nothing. */
export type Verdict = 'good' | 'bad' | 'none';

/** What a call may do, as far as the choice needs it. */
interface Choosing {
  readonly isRepeatable: boolean;
}

export class Balancer {
  /** In service; what `pick` chooses from. */
  available: readonly Endpoint[] = [];
  private endpoints: readonly Endpoint[] = [];
  private nextProbeMs = Infinity;

  /**
   * @param ejection undefined: several addresses are ejected by the usual rule, a single one never is.
   * @param onChange called after an address came into or went out of service; `why` is a failure, or undefined.
   */
  constructor(
    private readonly ejection: EjectionSettings | undefined,
    private readonly onChange: (endpoint: Endpoint) => void,
  ) {}

  /** Takes over the addresses as they are now. */
  use(endpoints: readonly Endpoint[]): void {
    this.endpoints = endpoints;
    this.rebuild();
  }

  /** Where a new call goes; undefined when every connection is in use, or nothing is in service. */
  pick(call: Choosing, nowMs: number): Endpoint | undefined {
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

  /** Where a call goes that failed at `failed`: to any other that is in service and has a free connection. */
  pickOther(failed: Endpoint): Endpoint | undefined {
    return leastLoaded(this.available, failed);
  }

  /** How long until a call can have a chance again at the earliest, when nothing is in service. */
  retryAfterMs(nowMs: number): number {
    return Math.max(0, Math.min(...this.endpoints.map((endpoint) => chanceMs(endpoint))) - nowMs);
  }

  /** Takes note of how a call went. */
  judge(endpoint: Endpoint, call: object, verdict: Verdict, nowMs: number): void {
    if (endpoint.probe === call) {
      endpoint.probe = undefined;
      if (verdict === 'good') endpoint.readmit(nowMs);
      else if (verdict === 'bad') this.failProbe(endpoint, nowMs);
      this.rebuild();
      if (verdict === 'good') this.onChange(endpoint);
    } else if (verdict === 'good') {
      endpoint.succeeded();
    } else if (verdict === 'bad') {
      // Whatever held up everything for a moment, this process included, must not take the last one out as well.
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

  /** Takes note of a change in what the health check of an address says, or of another success of it. */
  check(endpoint: Endpoint, passes: boolean, nowMs: number): void {
    const changed = endpoint.passesChecks !== passes;
    endpoint.passesChecks = passes;
    // That it passes is not enough: it did so while calls failed there. That it does so again says more.
    if (passes && changed) endpoint.cutRest(nowMs);
    this.rebuild();
    if (changed) this.onChange(endpoint);
  }

  /** Whether addresses are ejected at all. */
  get ejects(): boolean {
    return this.ejection === undefined ? this.endpoints.length > 1 : this.ejection.failures > 0;
  }

  private isTooMany(failures: number): boolean {
    return this.ejects && failures >= (this.ejection ?? USUAL_EJECTION).failures;
  }

  /** Whether an address fails too often, and half of all would still be in service without it. */
  private isOutlier(endpoint: Endpoint, nowMs: number): boolean {
    const others = this.available.filter((each) => each !== endpoint);
    if (!this.ejects || others.length === 0 || 2 * others.length < this.endpoints.length) return false;
    return failsTooOften(endpoint, others, this.ejection ?? USUAL_EJECTION, nowMs);
  }

  private eject(endpoint: Endpoint, nowMs: number): void {
    const { duration, longest } = this.ejection ?? USUAL_EJECTION;
    endpoint.eject(nowMs, duration, longest);
  }

  /** A rest that was over begins anew, and is longer. One that was cut short because nothing else was left goes on. */
  private failProbe(endpoint: Endpoint, nowMs: number): void {
    endpoint.tries++;
    if (endpoint.triedMs >= endpoint.ejectedUntilMs) this.eject(endpoint, nowMs);
    else endpoint.triedMs = nowMs;
  }

  /** The ejected address whose turn it is, for one call. */
  private probe(call: Choosing, nowMs: number): Endpoint | undefined {
    // With others in service the probe's caller must lose nothing: it has to be one that can go
    // elsewhere afterwards, and have room there.
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

  /** When an address may be probed; Infinity: not at all. */
  private dueMs(endpoint: Endpoint): number {
    if (endpoint.state !== 'ejected' || endpoint.probe !== undefined) return Infinity;
    return this.available.length > 0 ? endpoint.ejectedUntilMs : lastResortMs(endpoint);
  }

  private rebuild(): void {
    this.available = this.endpoints.filter(({ isAvailable }) => isAvailable);
    this.nextProbeMs = Math.min(...this.endpoints.map((endpoint) => this.dueMs(endpoint)));
  }
}

/** What the end of a call says of the target; what the client did wrong, or we did, says nothing. */
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

/** When an ejected address is tried while no other is left. */
function lastResortMs({ ejectedUntilMs, triedMs, tries }: Endpoint): number {
  const pauseMs = Math.min(PROBE_INTERVAL_MS * 2 ** tries, LONGEST_PROBE_INTERVAL_MS);
  return Math.min(ejectedUntilMs, triedMs + pauseMs);
}

/** When an address that is out of service can be asked at the earliest, while no other is left. */
function chanceMs(endpoint: Endpoint): number {
  const { passesChecks, checksPassFromMs, ejectedUntilMs, probe } = endpoint;
  const byChecksMs = passesChecks ? 0 : checksPassFromMs;
  // While a probe is under way it may be back at any moment.
  return ejectedUntilMs === 0 || probe !== undefined ? byChecksMs : Math.max(byChecksMs, lastResortMs(endpoint));
}

/** A random element that is not `one`; there are at least two. */
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
