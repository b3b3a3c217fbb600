/**
 * Upstream is a service with its targets. It balances the load, limits concurrent and queued calls, limits the share of
 * each account, and manages retries.
 */
import type { ServiceConfig } from '../../config/model/schema.js';
import { Problem } from '../../platform/problems/errors.js';
import type { Logger } from '../../platform/log.js';
import { BackendTls, type BackendTlsFiles } from './backend-tls.js';
import { Balancer, verdictOf, type Verdict } from './balancer.js';
import type { Deadlines } from './deadlines.js';
import type { Endpoint } from './endpoint.js';
import { systemResolve, type Resolve } from './name-watch.js';
import type { PendingCall } from './pending-call.js';
import { RetryBudget } from './retry-budget.js';
import { Target } from './target.js';
import { capacityProblem, noTargetProblem, concurrencyProblem } from './call-problems.js';
import type { UpstreamOutcome } from './upstream-errors.js';
import { UpstreamMetrics } from './upstream-metrics.js';
import { CallQueue } from './call-queue.js';

export interface UpstreamOptions {
  readonly log?: Logger;
  /** Resolver for target names; the system's resolver by default. */
  readonly resolve?: Resolve;
  readonly resolveIntervalMs?: number;
  /** Base for relative file names in `tls`. */
  readonly folder?: string;
}

/** Interval at which a retired service checks whether its last call has ended. */
const RETIRED_CHECK_INTERVAL_MS = 250;
/** Time for which a retired service stays open for requests that were admitted before its retirement. */
const RETIRED_GRACE_MS = 5_000;

export class Upstream {
  readonly targets: readonly Target[];
  readonly metrics: UpstreamMetrics;
  private readonly tls: BackendTls | undefined;
  private readonly balancer: Balancer;
  private readonly budget: RetryBudget;
  private readonly waiting = new CallQueue();
  /** Calls that hold a connection, unordered. `release` moves the last call into the slot of the ended call. */
  private readonly active: PendingCall[] = [];
  /** Maximum concurrent calls per account. */
  private maxAccountCalls = 1;
  /** Maximum queued calls per account. */
  private readonly maxAccountWaiting: number;
  private isRetired = false;

  constructor(
    readonly name: string,
    readonly config: ServiceConfig,
    private readonly deadlines: Deadlines,
    private readonly options: UpstreamOptions = {},
    tlsFiles?: BackendTlsFiles,
  ) {
    const { resolve = systemResolve, resolveIntervalMs, folder = '.', log } = options;
    this.tls = config.tls === undefined ? undefined : new BackendTls(name, config.tls, folder, log, tlsFiles);
    const listener = {
      onAddresses: () => this.updateEndpoints(),
      onCheck: (endpoint: Endpoint, passes: boolean) => this.balancer.recordCheck(endpoint, passes, performance.now()),
    };
    this.targets = config.targets.map(
      (url) => new Target(name, url, config, listener, resolve, resolveIntervalMs, this.tls),
    );
    this.metrics = new UpstreamMetrics(name, this.targets);
    this.budget = new RetryBudget(config.retries.most === 0 ? 0 : config.retries.budget);
    this.maxAccountWaiting = Math.ceil(config.queue * config.accountShare);
    this.balancer = new Balancer(config.ejection, (endpoint) => this.onEndpointChange(endpoint));
    this.updateEndpoints();
    for (const target of this.targets) target.start();
    this.tls?.watchFiles();
  }

  /** Whether at least one address is in service. */
  get isAvailable(): boolean {
    return this.balancer.available.length > 0;
  }

  /**
   * Books a connection for a new call. Returns undefined if the call was queued. `PendingCall.send` sends a queued call
   * later.
   * @throws Problem if no target is in service, the queue is full, or the account has too many calls.
   */
  admit(call: PendingCall): Endpoint | undefined {
    // Count the account's calls only if the total reaches the limit per account.
    if (this.active.length < this.maxAccountCalls || this.activeCallsOf(call.accountId) < this.maxAccountCalls) {
      const endpoint = this.balancer.pickEndpoint(call, this.deadlines.nowMs);
      if (endpoint !== undefined) {
        this.budget.deposit();
        this.book(call, endpoint);
        return endpoint;
      }
    }
    this.enqueue(call);
    return undefined;
  }

  /** Releases a call's connection and records its result. No effect if the call holds no connection. */
  release(call: PendingCall, outcome: UpstreamOutcome, status: number, durationMs: number): void {
    const { endpoint } = call;
    if (endpoint === undefined) return;
    call.endpoint = undefined;
    endpoint.inFlight--;
    const last = this.active.pop();
    if (last !== undefined && last !== call) {
      this.active[call.activeSlot] = last;
      last.activeSlot = call.activeSlot;
    }
    endpoint.series.record(outcome, status, durationMs);
    const verdict = verdictOf(outcome, status);
    if (verdict !== 'none') endpoint.recent.count(verdict === 'bad', this.deadlines.nowMs);
    const beginsToFail = verdict === 'bad' && endpoint.recordFailure({ outcome, status, atMs: performance.now() });
    // Other 5xx do not count as failures of the target, but operators need to see them.
    if (verdict !== 'bad' && status >= 500 && outcome === 'answered')
      endpoint.lastFailure = { outcome, status, atMs: performance.now() };
    if (verdict !== 'good' || endpoint.failures > 0 || endpoint.probe === call) {
      this.recordVerdict(endpoint, call, verdict, beginsToFail);
    }
    if (this.waiting.length > 0) this.serveWaiting();
  }

  /** Passes a verdict to the balancer. Logs when an address that stays in service begins to fail or recovers. */
  private recordVerdict(endpoint: Endpoint, call: PendingCall, verdict: Verdict, beginsToFail: boolean): void {
    const wasFailing = endpoint.failsThroughout;
    this.balancer.recordVerdict(endpoint, call, verdict, this.deadlines.nowMs);
    if (this.balancer.ejects || !endpoint.isAvailable) return;
    if (beginsToFail) {
      const line = { event: 'target_failing', ...this.logFields(endpoint), ...failureFields(endpoint) };
      this.options.log?.warn(line, 'All calls to a target fail; it stays in service');
    } else if (verdict === 'good' && wasFailing) {
      this.options.log?.info({ event: 'target_back', ...this.logFields(endpoint) }, 'A target responds again');
    }
  }

  /** Records the status of a response to a probe. A target can return to service before the response ends. */
  recordProbeResponse(call: PendingCall, endpoint: Endpoint, status: number): void {
    this.balancer.recordVerdict(endpoint, call, verdictOf('answered', status), this.deadlines.nowMs);
  }

  /**
   * Books another address for a retry. Returns undefined if no address has a free connection, or the retry budget is
   * empty.
   * @param allowSame whether the failed address may be booked again if no other address is in service.
   * @param wasProbe whether the failed call was a probe.
   */
  bookRetry(call: PendingCall, failed: Endpoint, allowSame: boolean, wasProbe: boolean): Endpoint | undefined {
    const { available } = this.balancer;
    const same = allowSame && available.length === 1 && available[0] === failed && !failed.isFull ? failed : undefined;
    const next = this.balancer.pickOther(failed) ?? same;
    if (next === undefined) return undefined;
    if (!this.budget.withdraw(wasProbe)) {
      this.metrics.countRetry('over_budget');
      return undefined;
    }
    this.book(call, next);
    return next;
  }

  /** Reports whether another address could take over a failed probe. */
  hasAlternative(probed: Endpoint): boolean {
    return this.balancer.pickOther(probed) !== undefined;
  }

  /** Removes a call from the queue. */
  removeWaiting(call: PendingCall): void {
    this.waiting.remove(call);
    this.metrics.waiting.set(this.waiting.length);
  }

  /** Counts a call that waited too long in the queue, and returns its problem. */
  queueTimeoutProblem(call: PendingCall): Problem {
    if (this.activeCallsOf(call.accountId) >= this.maxAccountCalls) return this.refusal('account_share');
    return this.refusal('queue_timeout');
  }

  /** Lists active and queued calls. Returns a copy, because the caller may end some of the calls. */
  listCalls(): PendingCall[] {
    const calls = [...this.active];
    for (let call = this.waiting.first; call !== undefined; call = call.nextWaiting) calls.push(call);
    return calls;
  }

  /**
   * Retires the service. It still serves requests that were admitted before, for at least `RETIRED_GRACE_MS`. Resolves
   * after these requests have ended, or after `timeoutMs`, and all connections are closed.
   */
  async retire(timeoutMs: number): Promise<void> {
    this.isRetired = true;
    for (const target of this.targets) target.stop();
    this.metrics.clearTargets();
    const nowMs = performance.now();
    const [graceEndMs, timeoutAtMs] = [nowMs + RETIRED_GRACE_MS, nowMs + timeoutMs];
    while (performance.now() < graceEndMs || (this.listCalls().length > 0 && performance.now() < timeoutAtMs)) {
      await new Promise((resolve) => setTimeout(resolve, RETIRED_CHECK_INTERVAL_MS).unref());
    }
    await this.close(0);
    this.metrics.removeSeries();
  }

  /**
   * Closes idle connections, and waits up to `timeoutMs` for calls in progress. Then refuses queued calls and closes
   * all connections.
   */
  async close(timeoutMs: number): Promise<void> {
    for (const target of this.targets) target.stop();
    this.tls?.stop();
    const closed = Promise.all(this.targets.map((target) => target.close()));
    const timeout = new Promise<void>((resolve) => setTimeout(resolve, timeoutMs).unref());
    await Promise.race([closed, timeout]);
    // End queued calls first. Otherwise queued calls would be sent as soon as active calls are cut off.
    for (let call = this.waiting.first; call !== undefined; call = this.waiting.first) {
      this.removeWaiting(call);
      call.refuse(this.refusal('queue_timeout'));
    }
    await Promise.all(this.targets.map((target) => target.destroy()));
  }

  private book(call: PendingCall, endpoint: Endpoint): void {
    endpoint.inFlight++;
    call.endpoint = endpoint;
    call.activeSlot = this.active.push(call) - 1;
  }

  /** Queues a call. @throws Problem if the call cannot be queued; see `admit`. */
  private enqueue(call: PendingCall): void {
    const { waiting, config } = this;
    if (!this.isAvailable) throw this.refusal('no_target');
    if (waiting.length >= this.maxAccountWaiting && waiting.countOf(call.accountId) >= this.maxAccountWaiting) {
      throw this.refusal(this.activeCallsOf(call.accountId) >= this.maxAccountCalls ? 'account_share' : 'queue_full');
    }
    if (waiting.length >= config.queue) throw this.refusal('queue_full');
    waiting.add(call);
    this.metrics.waiting.set(waiting.length);
  }

  /** Sends queued calls in order while connections are free. Skips calls of accounts that have used their share. */
  private serveWaiting(): void {
    const skippedAccounts: string[] = [];
    let call = this.waiting.first;
    // Sending can call this method again. The following call may then have left the queue.
    while (call?.isWaiting === true) {
      const following: PendingCall | undefined = call.nextWaiting;
      if (!skippedAccounts.includes(call.accountId)) {
        if (this.activeCallsOf(call.accountId) >= this.maxAccountCalls) skippedAccounts.push(call.accountId);
        else if (!this.sendWaiting(call)) return;
      }
      call = following;
    }
  }

  /** Sends a queued call. Returns false if no connection is free. */
  private sendWaiting(call: PendingCall): boolean {
    const endpoint = this.balancer.pickEndpoint(call, this.deadlines.nowMs);
    if (endpoint === undefined) return false;
    this.removeWaiting(call);
    this.budget.deposit();
    this.book(call, endpoint);
    call.send(endpoint);
    return true;
  }

  /** Counts an account's active calls at targets in service. */
  private activeCallsOf(accountId: string): number {
    let count = 0;
    for (const { accountId: other, endpoint } of this.active) {
      if (other === accountId && endpoint?.isAvailable === true) count++;
    }
    return count;
  }

  /** Counts a rejected call, and returns its problem. */
  private refusal(reason: 'no_target' | 'queue_full' | 'queue_timeout' | 'account_share'): Problem {
    this.metrics.countRefusal(reason);
    if (reason === 'account_share') return concurrencyProblem();
    return reason === 'no_target'
      ? noTargetProblem(this.balancer.retryAfterMs(this.deadlines.nowMs))
      : capacityProblem();
  }

  private updateEndpoints(): void {
    this.balancer.setEndpoints(this.targets.flatMap(({ endpoints }) => endpoints));
    this.onCapacityChange();
  }

  private onEndpointChange(endpoint: Endpoint): void {
    const { isAvailable } = endpoint;
    const line = this.logFields(endpoint);
    if (isAvailable) this.options.log?.info({ event: 'target_back', ...line }, 'A target is back in service');
    else {
      this.options.log?.warn(
        { event: 'target_lost', ...line, ...failureFields(endpoint) },
        'A target is out of service',
      );
    }
    this.onCapacityChange();
    if (!isAvailable) this.moveCallsFrom(endpoint);
  }

  private logFields({ target, address, state }: Endpoint): Record<string, unknown> {
    return { service: this.name, target, address: address?.address, state };
  }

  /** Moves calls away from an address that is out of service, if that is safe and the budget allows retries. */
  private moveCallsFrom(endpoint: Endpoint): void {
    for (const call of this.active.filter((each) => each.endpoint === endpoint)) {
      if (this.budget.isEmpty || this.balancer.pickOther(endpoint) === undefined) return;
      if (call.isMovable) call.moveToOtherTarget();
    }
  }

  /** Updates the limit per account, and sends or refuses queued calls, after the addresses in service have changed. */
  private onCapacityChange(): void {
    const { config, balancer, waiting } = this;
    const { connections, accountShare } = config;
    this.maxAccountCalls =
      accountShare === 1 ? Infinity : Math.max(1, Math.ceil(balancer.available.length * connections * accountShare));
    if (!this.isRetired) this.metrics.updateTargets();
    while (!this.isAvailable && waiting.first !== undefined) {
      const call = waiting.first;
      this.removeWaiting(call);
      call.refuse(this.refusal('no_target'));
    }
    if (waiting.length > 0) this.serveWaiting();
  }
}

/** Returns log fields that explain why an address is failing or out of service. */
function failureFields({ state, lastFailure, failedCalls, checkFailure, recent }: Endpoint): Record<string, unknown> {
  const { outcome, status = 0 } = lastFailure ?? {};
  const calls = {
    last: outcome,
    last_status: status === 0 ? undefined : status,
    failed_calls: failedCalls,
    recent_calls: recent.calls,
    recent_failed: recent.failed,
  };
  return state === 'unhealthy' ? { ...calls, check: checkFailure } : calls;
}
