/**
 * Rate-limits client networks that send invalid API keys (for IPv6, the /64 of an address). After too many invalid keys
 * within a minute, all requests of the network get 429 until the minute ends. Each process counts separately. A request
 * costs one map lookup, or none while there are no failed attempts.
 */
import { THROTTLES } from '../quota/model/throttle-rows.js';
import type { Clock } from '../platform/clock.js';
import { FixedProblem, type ErrorCode, type Problem } from '../platform/problems/errors.js';
import type { Logger } from '../platform/log.js';
import { METRICS, type ValueSeries } from '../platform/metrics.js';
import { clientNetwork } from './client-network.js';

/**
 * Length of a window in ms, and maximum number of networks with a window. A window starts with the first invalid key of
 * a network. Above the maximum, the window that ends first is dropped.
 */
const { windowMs: WINDOW_MS, mostKeys: MAX_ADDRESSES } = THROTTLES.wrongKeys;
/** Range of the random addition to `Retry-After`, so that clients do not all return at the same time. */
const JITTER_SECONDS = 3;

/**
 * Reports whether an error is a failed attempt. Revoked, expired and rotated secrets are not, because they are not
 * guesses. An old client with such a secret must not block the valid keys of its network.
 */
export function isFailedAttempt(code: ErrorCode): boolean {
  return code === 'invalid_api_key';
}

/** Problems by the seconds of their `Retry-After`. Reused, because throttled clients may send many requests. */
const refusals: (FixedProblem | undefined)[] = [];

function refusalFor(seconds: number): FixedProblem {
  return (refusals[seconds] ??= new FixedProblem('too_many_failed_attempts', {
    detail:
      'Too many requests from your address had an invalid API key. ' +
      `Correct the key, and retry in ${seconds} seconds.`,
    headers: ['Retry-After', String(seconds)],
  }));
}

function refusalUntil(endMs: number, now: number): FixedProblem {
  return refusalFor(Math.ceil((endMs - now) / 1_000) + Math.floor(Math.random() * JITTER_SECONDS));
}

interface Window {
  failures: number;
  /** Limit at the time when the throttling was logged. 0 if the throttling has not been logged. */
  loggedAt: number;
  readonly endMs: number;
}

export class FailedAttempts {
  /** Windows by network, in the order of their ends. All windows have the same length and are never extended. */
  private readonly windows = new Map<string, Window>();
  private earliestEndMs = Infinity;
  private warnedOfProxy = false;
  private counted: ValueSeries | undefined;
  private fromProxies: ValueSeries | undefined;

  /**
   * @param perMinute number of failed attempts per minute after which a network is throttled. 0 disables throttling.
   */
  constructor(
    private perMinute: number,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  readGauges(): void {
    METRICS.failedAttemptAddresses.series().set(this.windows.size);
  }

  /** Sets the limit per minute. Keeps the counts, unless the limit is 0, which disables throttling. */
  setLimit(perMinute: number): void {
    this.perMinute = perMinute;
    if (perMinute === 0) this.windows.clear();
  }

  /**
   * Returns `too_many_failed_attempts` with `Retry-After` if the network of an address is throttled. Otherwise returns
   * undefined.
   */
  problemFor(address: string): Problem | undefined {
    if (this.windows.size === 0) return undefined;
    const now = this.clock.now();
    if (now >= this.earliestEndMs) this.removeEnded(now);
    const network = clientNetwork(address);
    const window = this.fullWindow(network, now);
    if (window === undefined) return undefined;
    // The throttling has not been logged if the limit was lowered in the meantime.
    this.logThrottled(network, window);
    return refusalUntil(window.endMs, now);
  }

  /** Returns the problem that `problemFor` would return, but logs nothing. For previews. */
  previewProblem(address: string): Problem | undefined {
    const now = this.clock.now();
    const window = this.fullWindow(clientNetwork(address), now);
    return window === undefined ? undefined : refusalUntil(window.endMs, now);
  }

  /** Returns the window of a network if the network is throttled. Otherwise returns undefined. */
  private fullWindow(network: string, now: number): Window | undefined {
    const window = this.windows.get(network);
    return window === undefined || window.failures < this.perMinute || isOver(window, now) ? undefined : window;
  }

  /**
   * Counts a failed attempt, see `isFailedAttempt`.
   * @param isShared whether the address is that of an unknown proxy. Attempts from such an address are not counted.
   */
  recordAttempt(address: string, isShared: boolean): void {
    if (this.perMinute === 0) return;
    if (isShared) {
      this.warnOfProxy(address);
      return;
    }
    const network = clientNetwork(address);
    const now = this.clock.now();
    const window = this.windowOf(network, now);
    window.failures++;
    (this.counted ??= METRICS.failedAttempts.series('counted')).inc();
    if (window.failures >= this.perMinute) this.logThrottled(network, window);
  }

  /** Logs that a network is throttled, once per window. Logs again if the network reaches a limit that was raised. */
  private logThrottled(network: string, window: Window): void {
    if (window.loggedAt >= this.perMinute) return;
    window.loggedAt = this.perMinute;
    METRICS.failedAttempts.series('throttled').inc();
    this.log.warn(
      { event: 'address_throttled', client_network: network, failures: window.failures },
      'An address sent too many wrong keys and gets 429 until its minute is over',
    );
  }

  private windowOf(network: string, now: number): Window {
    const known = this.windows.get(network);
    if (known !== undefined && !isOver(known, now)) return known;
    this.windows.delete(network);
    if (this.windows.size >= MAX_ADDRESSES) this.removeOldest();
    const started: Window = { failures: 0, loggedAt: 0, endMs: now + WINDOW_MS };
    this.windows.set(network, started);
    this.earliestEndMs = Math.min(this.earliestEndMs, started.endMs);
    return started;
  }

  private removeEnded(now: number): void {
    this.earliestEndMs = Infinity;
    for (const [network, window] of this.windows) {
      if (!isOver(window, now)) {
        this.earliestEndMs = window.endMs;
        return;
      }
      this.windows.delete(network);
    }
  }

  private removeOldest(): void {
    for (const network of this.windows.keys()) {
      this.windows.delete(network);
      return;
    }
  }

  /**
   * Warns once about a proxy that is missing from `gateway.trustedProxies`. Throttling the proxy would block all of its
   * clients.
   */
  private warnOfProxy(address: string): void {
    (this.fromProxies ??= METRICS.failedAttempts.series('unknown_proxy')).inc();
    if (this.warnedOfProxy) return;
    this.warnedOfProxy = true;
    this.log.warn(
      { event: 'proxy_not_trusted', client_address: address },
      'Requests come through a proxy that gateway.trustedProxies does not name: addresses of clients are not known',
    );
  }
}

/** Reports whether a window has ended. If the clock was set back, the window ends early instead of lasting longer. */
function isOver(window: Window, now: number): boolean {
  return now >= window.endMs || window.endMs - now > WINDOW_MS;
}
