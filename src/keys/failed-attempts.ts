/**
 * The throttle of addresses that try keys: so many wrong ones in a minute, then 429 until that minute is over. Counted
 * in this process alone. While nobody fails there is nothing to look up; a known key from an address without failures
 * pays one look-up while somebody else fails.
 */
import { THROTTLES } from '../quota/model/throttle-rows.js';
import type { Clock } from '../platform/clock.js';
import { FixedProblem, type ErrorCode, type Problem } from '../platform/problems/errors.js';
import type { Logger } from '../platform/log.js';
import { METRICS, type ValueSeries } from '../platform/metrics.js';
import { clientNetwork } from './client-network.js';

/** From the first wrong key of an address on. Beyond so many addresses, the window that ends first makes room. */
const { windowMs: WINDOW_MS, mostKeys: MOST_ADDRESSES } = THROTTLES.wrongKeys;
const JITTER_SECONDS = 3;

/**
 * Reports whether a refusal can be of a guess. A secret that is revoked, expired or rotated out is known, so whoever
 * sends it guesses nothing: an old worker that still has one must not lock out the good keys of its address.
 */
export function isFailedAttempt(code: ErrorCode): boolean {
  return code === 'invalid_api_key';
}

/** By the seconds of `Retry-After`, of which there are few: whoever is shut out may go on as fast as it can. */
const refusals: (FixedProblem | undefined)[] = [];

function refusalFor(seconds: number): FixedProblem {
  return (refusals[seconds] ??= new FixedProblem('too_many_failed_attempts', {
    detail:
      'Too many requests from your address had a wrong API key. ' + `Correct the key, and go on in ${seconds} seconds.`,
    headers: ['Retry-After', String(seconds)],
  }));
}

function refusalUntil(endMs: number, now: number): FixedProblem {
  return refusalFor(Math.ceil((endMs - now) / 1_000) + Math.floor(Math.random() * JITTER_SECONDS));
}

interface Window {
  failures: number;
  /** The limit at which it was told that the address is throttled; 0: it was not. */
  toldAt: number;
  readonly endMs: number;
}

export class FailedAttempts {
  /** In the order of their ends, because a window never moves and all are equally long. */
  private readonly windows = new Map<string, Window>();
  private earliestEndMs = Infinity;
  private warnedOfProxy = false;
  private counted: ValueSeries | undefined;
  private leftOut: ValueSeries | undefined;

  /** @param perMinute failures of one address before it is throttled; 0: never. */
  constructor(
    private perMinute: number,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  readGauges(): void {
    METRICS.failedAttemptAddresses.series().set(this.windows.size);
  }

  /**
   * So many from now on; what has been counted stays, unless it is 0: then nobody is throttled, and all is forgotten.
   */
  use(perMinute: number): void {
    this.perMinute = perMinute;
    if (perMinute === 0) this.windows.clear();
  }

  /** `too_many_failed_attempts` with `Retry-After` while the address has no attempt left; undefined while it has. */
  refusal(address: string): Problem | undefined {
    if (this.windows.size === 0) return undefined;
    const now = this.clock.now();
    if (now >= this.earliestEndMs) this.forgetUntil(now);
    const network = clientNetwork(address);
    const window = this.fullWindow(network, now);
    if (window === undefined) return undefined;
    // Not told yet: the limit was lowered to what the address had already failed.
    this.tell(network, window);
    return refusalUntil(window.endMs, now);
  }

  /** The same for a request that is not made: nobody is told of the address because of it. */
  foretell(address: string): Problem | undefined {
    const now = this.clock.now();
    const window = this.fullWindow(clientNetwork(address), now);
    return window === undefined ? undefined : refusalUntil(window.endMs, now);
  }

  /** The window of a network that has no attempt left. */
  private fullWindow(network: string, now: number): Window | undefined {
    const window = this.windows.get(network);
    return window === undefined || window.failures < this.perMinute || isOver(window, now) ? undefined : window;
  }

  /**
   * Counts a request that was refused because of a wrong key, see `isFailedAttempt`.
   * @param isShared whether the address is a proxy's that stands for everyone behind it.
   */
  note(address: string, isShared: boolean): void {
    if (this.perMinute === 0) return;
    if (isShared) {
      this.leaveOut(address);
      return;
    }
    const network = clientNetwork(address);
    const now = this.clock.now();
    const window = this.windowOf(network, now);
    window.failures++;
    (this.counted ??= METRICS.failedAttempts.series('counted')).inc();
    if (window.failures >= this.perMinute) this.tell(network, window);
  }

  /**
   * Says that an address is throttled: once in its minute, and once more where the limit was raised and is reached
   * again.
   */
  private tell(network: string, window: Window): void {
    if (window.toldAt >= this.perMinute) return;
    window.toldAt = this.perMinute;
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
    if (this.windows.size >= MOST_ADDRESSES) this.forgetFirst();
    const begun: Window = { failures: 0, toldAt: 0, endMs: now + WINDOW_MS };
    this.windows.set(network, begun);
    this.earliestEndMs = Math.min(this.earliestEndMs, begun.endMs);
    return begun;
  }

  private forgetUntil(now: number): void {
    this.earliestEndMs = Infinity;
    for (const [network, window] of this.windows) {
      if (!isOver(window, now)) {
        this.earliestEndMs = window.endMs;
        return;
      }
      this.windows.delete(network);
    }
  }

  private forgetFirst(): void {
    for (const network of this.windows.keys()) {
      this.windows.delete(network);
      return;
    }
  }

  /** Throttling a load balancer that nobody has told us of would shut out everyone behind it. */
  private leaveOut(address: string): void {
    (this.leftOut ??= METRICS.failedAttempts.series('unknown_proxy')).inc();
    if (this.warnedOfProxy) return;
    this.warnedOfProxy = true;
    this.log.warn(
      { event: 'proxy_not_trusted', client_address: address },
      'Requests come through a proxy that gateway.trustedProxies does not name: addresses of clients are not known',
    );
  }
}

/** A clock that was set back must not make a window longer. */
function isOver(window: Window, now: number): boolean {
  return now >= window.endMs || window.endMs - now > WINDOW_MS;
}
