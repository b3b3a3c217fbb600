/**
 * Collects ended requests in memory until they are written to the request log. Recording must be cheap, because it
 * happens on the request path. Memory is limited per account, per kind of request, and in total. A busy account
 * replaces its own requests first. If all slots are in use, the limits of all accounts shrink, and errors are kept
 * longest.
 */
import type { Operation } from '../config/model/schema.js';
import { randomBytes } from 'node:crypto';
import { METRICS } from '../platform/metrics.js';
import { RequestSlots } from './request-slots.js';
import type { EndedRequest, RequestLogRow } from './request-log-row.js';
import { kindOf, NO_ERROR, Sample, divideRows } from './sample.js';

/** Maximum rows of all accounts between two writes. */
const MAX_ROWS = 5_000;
/** Maximum rows of an account between two writes, per kind of error. */
const MAX_ERRORS = 250;
/** Maximum rows of an account between two writes, for successful requests. */
const MAX_OTHERS = 500;
const NODE_BYTES = 6;

/** Number of writes without requests after which an account is removed from memory. */
const MAX_IDLE_WRITES = 2;
/** Maximum number of accounts in memory, far more than can have rows. Requests of further accounts are dropped. */
const MAX_ACCOUNTS = 4 * MAX_ROWS;

/** LoggedAccount is an account with its recorded requests. */
class LoggedAccount {
  /** One sample per kind of request, created on demand. */
  readonly samples: (Sample | undefined)[] = [undefined, undefined, undefined, undefined];
  /** Whether the account is in `listed`. */
  isListed = false;
  idleWrites = 0;

  constructor(readonly id: string) {}
}

/** RequestLogRecorder collects the requests of one process. */
export class RequestLogRecorder {
  /** Random ID of this process in its rows. */
  readonly node = randomBytes(NODE_BYTES).toString('base64url');
  /** Whether requests are recorded. */
  isOn: boolean;
  /** Created with the first request, so that a process without requests needs no memory. */
  private slots: RequestSlots | undefined;
  private readonly accounts = new Map<string, LoggedAccount>();
  /** Accounts with rows to write, oldest first. */
  private listed: LoggedAccount[] = [];
  /** Current limits per account: for successful requests, and per kind of error. Halved when all slots are in use. */
  private maxSuccesses = MAX_OTHERS;
  private maxErrors = MAX_ERRORS;
  private seq = 0;
  private readonly dropped = METRICS.requestLogLeftOut.series();

  /**
   * @param pathOf returns the public path of an operation, with its parameters as in the template.
   * @param random returns a number from 0 to below 1.
   */
  constructor(
    private readonly pathOf: (operation: Pick<Operation, 'api' | 'template'>) => string,
    isOn = true,
    private readonly random: () => number = Math.random,
  ) {
    this.isOn = isOn;
  }

  /** Number of recorded requests that wait to be written. */
  get length(): number {
    return this.slots === undefined ? 0 : this.slots.size - this.slots.freeCount;
  }

  /** Records an ended request. Called on the request path. */
  record(
    request: EndedRequest,
    accountId: string,
    keyId: string,
    status: number,
    durationMs: number,
    nowMs: number,
  ): void {
    if (!this.isOn) return;
    const slots = (this.slots ??= new RequestSlots(MAX_ROWS));
    const account = this.accounts.get(accountId) ?? this.addAccount(accountId);
    if (account === undefined) {
      this.dropped.inc();
      return;
    }
    if (!account.isListed) this.listAccount(account);
    const kind = kindOf(status);
    const sample = (account.samples[kind] ??= new Sample());
    this.seq += 1;
    const slot = this.slotFor(sample, kind, slots);
    if (slot >= 0) slots.store(slot, request, keyId, status, durationMs, nowMs, this.seq);
  }

  /** Number of accounts in memory. */
  get accountsHeld(): number {
    return this.accounts.size;
  }

  /** Number of accounts with rows to write. */
  get accountsWaiting(): number {
    return this.listed.length;
  }

  /**
   * Drops rows until at most `limit` are left. Halves the limits of all accounts to do so, and drops errors last. Keeps
   * at least one row per account and kind of request, so more rows than `limit` can be left.
   */
  dropRowsAbove(limit: number): void {
    while (this.length > limit && this.reduceLimits()) continue;
  }

  /**
   * Moves the rows of one account to `into`, namely of the account that has waited longest.
   * @param limitFor returns the maximum number of rows for an account. Further rows are dropped. The weights of the
   *   remaining rows of the same kind include the dropped rows.
   */
  takeFirst(limitFor: (accountId: string) => number, into: RequestLogRow[]): void {
    const account = this.listed.shift();
    const { slots } = this;
    if (account === undefined || slots === undefined) return;
    account.isListed = false;
    account.idleWrites = 0;
    const { id, samples } = account;
    const kept = samples.map((sample) => sample?.kept ?? 0);
    const shares = divideRows(limitFor(id), kept);
    for (const [kind, sample] of samples.entries()) {
      if (sample === undefined) continue;
      while (sample.kept > shares[kind]!) slots.release(sample.removeRandom(this.random(), slots.next));
      if (sample.kept === 0) this.dropped.inc(sample.seen);
      sample.drain(slots.next, (slot, weight) => {
        into.push(this.rowOf(id, slots, slot, weight));
        slots.release(slot);
      });
    }
  }

  /** Ends a write. Restores the limits per account, and removes accounts that have been idle for several writes. */
  endWrite(): void {
    this.maxSuccesses = MAX_OTHERS;
    this.maxErrors = MAX_ERRORS;
    for (const account of this.accounts.values()) {
      if (!account.isListed && ++account.idleWrites > MAX_IDLE_WRITES) this.accounts.delete(account.id);
    }
  }

  /** Adds an account. Returns undefined if the memory already contains `MAX_ACCOUNTS`. */
  private addAccount(accountId: string): LoggedAccount | undefined {
    if (this.accounts.size >= MAX_ACCOUNTS) return undefined;
    const account = new LoggedAccount(accountId);
    this.accounts.set(accountId, account);
    return account;
  }

  private listAccount(account: LoggedAccount): void {
    account.isListed = true;
    this.listed.push(account);
  }

  /** Returns the slot in which to store the next request of a sample, or -1 if the request is not kept. */
  private slotFor(sample: Sample, kind: number, slots: RequestSlots): number {
    const isError = kind !== NO_ERROR;
    if (sample.isWhole(this.limitFor(isError))) {
      while (slots.freeCount === 0 && (this.reduceLimits() || (isError && this.dropSuccesses(slots)))) continue;
      // Reducing the limits may have dropped requests of this sample, too.
      if (slots.freeCount > 0 && sample.isWhole(this.limitFor(isError))) {
        const slot = slots.allocate();
        sample.add(slot, slots.next);
        return slot;
      }
    }
    return sample.replace(this.random(), slots.next);
  }

  private limitFor(isError: boolean): number {
    return isError ? this.maxErrors : this.maxSuccesses;
  }

  /**
   * Halves the larger limit per account, or the limit for successful requests if both are equal. Returns false if both
   * limits are already one row.
   */
  private reduceLimits(): boolean {
    if (this.maxSuccesses > 1 && this.maxSuccesses >= this.maxErrors)
      this.maxSuccesses = Math.ceil(this.maxSuccesses / 2);
    else if (this.maxErrors > 1) this.maxErrors = Math.ceil(this.maxErrors / 2);
    else return false;
    for (const { samples } of this.listed) this.trim(samples);
    return true;
  }

  /**
   * Drops the successful requests of every second account that has any. Returns false if no account has successful
   * requests.
   */
  private dropSuccesses(slots: RequestSlots): boolean {
    let count = 0;
    for (const { samples } of this.listed) {
      const sample = samples[NO_ERROR];
      if (sample === undefined || sample.kept === 0 || count++ % 2 === 1) continue;
      while (sample.kept > 0) slots.release(sample.removeRandom(this.random(), slots.next));
    }
    return count > 0;
  }

  /** Drops the requests of an account that exceed the current limits. */
  private trim(samples: readonly (Sample | undefined)[]): void {
    const { slots } = this;
    if (slots === undefined) return;
    for (const [kind, sample] of samples.entries()) {
      const limit = this.limitFor(kind !== NO_ERROR);
      while (sample !== undefined && sample.kept > limit) slots.release(sample.removeRandom(this.random(), slots.next));
    }
  }

  private rowOf(accountId: string, slots: RequestSlots, slot: number, weight: number): RequestLogRow {
    const { operation, ...request } = slots.read(slot);
    const route = operation === undefined ? '' : this.pathOf(operation);
    return { accountId, node: this.node, operation: operation?.id ?? '', route, weight, ...request };
  }
}
