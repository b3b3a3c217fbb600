/**
 * A key that may not be used any more ends what it has open: responses that stream, uploads and WebSockets are
 * asked about again when the message bus says that their key or account has changed, and every ten seconds, for
 * what no message tells: an expiry, or a message that was missed. Looks at the calls that are under way; a
 * request that ends soon costs nothing.
 */
import type { Invalidation, InvalidationBus } from '../../keys/api-key.js';
import type { Authenticator } from '../../keys/authenticator.js';
import { METRICS, type CUT_CODES } from '../../platform/metrics.js';
import type { LiveCall } from '../../proxy/targets/pending-call.js';
import { Exchange } from '../request/exchange.js';

/** Between two looks at everything that is open. */
const SWEEP_INTERVAL_MS = 10_000;
/** The sweep skips younger calls: most requests have ended by the next one. */
const SWEPT_FROM_MS = 1_000;
/** After a change: a request that was let in just before it may not have been sent to its backend yet. */
const SECOND_LOOK_MS = 500;

export class LiveStreams {
  private timer: NodeJS.Timeout | undefined;
  private secondLook: NodeJS.Timeout | undefined;
  /** What changed lately, by key or account, in the order in which a second look is due. */
  private readonly changed = new Map<string, { readonly accountId: string; readonly dueMs: number }>();

  /** @param calls everything that is under way now. */
  constructor(
    private readonly calls: () => readonly LiveCall[],
    private readonly authenticator: Authenticator,
  ) {}

  /** Begins to look. What keeps keys in memory must have subscribed before: here the new row is asked for. */
  follow(bus: InvalidationBus): void {
    bus.subscribe((change) => this.onChange(change));
    this.timer = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
    clearTimeout(this.secondLook);
    this.secondLook = undefined;
  }

  private onChange(change: Invalidation): void {
    this.look(
      ({ accountId }, { key }) =>
        accountId === change.accountId && (change.type === 'account' || key?.record.keyId === change.keyId),
    );
    // Anew for the same: what was there at the last change of it has just been looked at.
    const what = change.type === 'account' ? change.accountId : `${change.accountId}/${change.keyId}`;
    this.changed.delete(what);
    this.changed.set(what, { accountId: change.accountId, dueMs: performance.now() + SECOND_LOOK_MS });
    this.secondLook ??= setTimeout(() => this.lookAgain(), SECOND_LOOK_MS).unref();
  }

  /** Looks at accounts whose change is long enough ago; at the others when it is. */
  private lookAgain(): void {
    const nowMs = performance.now();
    const due = [...this.changed].filter(([, { dueMs }]) => dueMs <= nowMs + 1);
    for (const [what] of due) this.changed.delete(what);
    const accounts = new Set(due.map(([, { accountId }]) => accountId));
    this.look(({ accountId }) => accounts.has(accountId));
    const [next] = this.changed.values();
    this.secondLook = next && setTimeout(() => this.lookAgain(), Math.max(1, next.dueMs - nowMs)).unref();
  }

  private sweep(): void {
    const before = performance.now() - SWEPT_FROM_MS;
    this.look((_call, { startedMs }) => startedMs <= before);
  }

  private look(isMeant: (call: LiveCall, exchange: Exchange) => boolean): void {
    for (const call of this.calls()) {
      const { client } = call.request;
      if (client instanceof Exchange && isMeant(call, client)) void this.recheck(call, client);
    }
  }

  private async recheck(call: LiveCall, exchange: Exchange): Promise<void> {
    const { key, operation, clientAddress } = exchange;
    if (key === undefined || operation === undefined) return;
    const problem = await this.authenticator.recheck(key.record.hash, clientAddress, operation.scopes);
    if (problem === undefined) return;
    // For the log line, which is written as soon as the connection has ended.
    const { problemCode } = exchange;
    exchange.problemCode = problem.code;
    const kind = call.bar(problem);
    if (kind === undefined) exchange.problemCode = problemCode;
    else METRICS.streamsCut.series(kind, problem.code as (typeof CUT_CODES)[number]).inc();
  }
}
