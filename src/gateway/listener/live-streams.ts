/**
 * Ends active calls of API keys that may no longer be used: streaming responses, uploads and WebSockets. When the
 * invalidation bus announces a changed key or account, the calls with this key or account are checked. A sweep every
 * ten seconds also finds expired keys and missed messages. Short requests have no additional cost.
 */
import type { Invalidation, InvalidationBus } from '../../keys/api-key.js';
import type { Authenticator } from '../../keys/authenticator.js';
import { METRICS, type CUT_CODES } from '../../platform/metrics.js';
import type { LiveCall } from '../../proxy/targets/pending-call.js';
import { Exchange } from '../request/exchange.js';

const SWEEP_INTERVAL_MS = 10_000;
/** Minimum age of the calls that the sweep checks, in ms. Most calls end earlier. */
const SWEPT_FROM_MS = 1_000;
/**
 * Delay of the second check after a change, in ms. A request that was admitted just before the change may not be active
 * at the first check.
 */
const SECOND_CHECK_MS = 500;

export class LiveStreams {
  private timer: NodeJS.Timeout | undefined;
  private secondCheck: NodeJS.Timeout | undefined;
  /** Recent changes by key or account, in the order of their second checks. */
  private readonly changed = new Map<string, { readonly accountId: string; readonly dueMs: number }>();

  /** @param calls returns all active calls */
  constructor(
    private readonly calls: () => readonly LiveCall[],
    private readonly authenticator: Authenticator,
  ) {}

  /**
   * Starts the checks. Key caches must subscribe to the bus first, because the checks read the changed keys from the
   * caches.
   */
  followChanges(bus: InvalidationBus): void {
    bus.subscribe((change) => this.onChange(change));
    this.timer = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
    clearTimeout(this.secondCheck);
    this.secondCheck = undefined;
  }

  private onChange(change: Invalidation): void {
    this.recheckCalls(
      ({ accountId }, { key }) =>
        accountId === change.accountId && (change.type === 'account' || key?.record.keyId === change.keyId),
    );
    // Restart the delay, because the first check has just covered the earlier calls.
    const changedId = change.type === 'account' ? change.accountId : `${change.accountId}/${change.keyId}`;
    this.changed.delete(changedId);
    this.changed.set(changedId, { accountId: change.accountId, dueMs: performance.now() + SECOND_CHECK_MS });
    this.secondCheck ??= setTimeout(() => this.recheckChanged(), SECOND_CHECK_MS).unref();
  }

  /** Runs the second checks that are due, and schedules the remaining ones. */
  private recheckChanged(): void {
    const nowMs = performance.now();
    const due = [...this.changed].filter(([, { dueMs }]) => dueMs <= nowMs + 1);
    for (const [changedId] of due) this.changed.delete(changedId);
    const accounts = new Set(due.map(([, { accountId }]) => accountId));
    this.recheckCalls(({ accountId }) => accounts.has(accountId));
    const [next] = this.changed.values();
    this.secondCheck = next && setTimeout(() => this.recheckChanged(), Math.max(1, next.dueMs - nowMs)).unref();
  }

  private sweep(): void {
    const before = performance.now() - SWEPT_FROM_MS;
    this.recheckCalls((_call, { startedMs }) => startedMs <= before);
  }

  private recheckCalls(matches: (call: LiveCall, exchange: Exchange) => boolean): void {
    for (const call of this.calls()) {
      const { client } = call.request;
      if (client instanceof Exchange && matches(call, client)) void this.recheck(call, client);
    }
  }

  /** Checks the key of a call again, and ends the call if the key may no longer be used. */
  private async recheck(call: LiveCall, exchange: Exchange): Promise<void> {
    const { key, operation, clientAddress } = exchange;
    if (key === undefined || operation === undefined) return;
    const problem = await this.authenticator.recheck(key.record.hash, clientAddress, operation.scopes);
    if (problem === undefined) return;
    // Set the code before `revokeAccess`. The log line is written as soon as the connection has ended.
    const { problemCode } = exchange;
    exchange.problemCode = problem.code;
    const kind = call.revokeAccess(problem);
    if (kind === undefined) exchange.problemCode = problemCode;
    else METRICS.streamsCut.series(kind, problem.code as (typeof CUT_CODES)[number]).inc();
  }
}
