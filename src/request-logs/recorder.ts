/**
 * Collects ended requests until they are written to the log. On the request path, this finds the account and copies
 * some numbers. Memory is limited per account, per kind of request, and in total. A busy account displaces its own
 * requests first. When memory runs out, the limits of all accounts shrink, and errors are kept longest.
 */
import type { Operation } from '../config/model/schema.js';
import { randomBytes } from 'node:crypto';
import { METRICS } from '../platform/metrics.js';
import { RequestSlots } from './request-slots.js';
import type { EndedRequest, RequestLogRow } from './request-log-row.js';
import { kindOf, NO_ERROR, Sample, shareOut } from './sample.js';

/** Maximum rows of all accounts between two writes. */
const MOST_ROWS = 5_000;
/** Maximum rows of an account between two writes: per kind of error, and for successful requests. */
const MOST_ERRORS = 250;
const MOST_OTHERS = 500;
const NODE_BYTES = 6;

/** Number of writes after which an idle account is removed. */
const MAX_IDLE_WRITES = 2;
/** Maximum number of accounts, far more than can have rows. */
const MOST_ACCOUNTS = 4 * MOST_ROWS;

/** LoggedAccount is an account with its samples, which are created on demand. */
class LoggedAccount {
  readonly samples: (Sample | undefined)[] = [undefined, undefined, undefined, undefined];
  isListed = false;
  idleWrites = 0;

  constructor(readonly id: string) {}
}

export class RequestLogRecorder {
  /** Identifies this process in its rows. */
  readonly node = randomBytes(NODE_BYTES).toString('base64url');
  isOn: boolean;
  /** Created with the first request, so that a process without requests needs no memory. */
  private slots: RequestSlots | undefined;
  private readonly accounts = new Map<string, LoggedAccount>();
  /** Accounts with rows to write, oldest first. */
  private listed: LoggedAccount[] = [];
  /** Current limits per account for successful requests and per kind of error. Reduced when slots run out. */
  private maxSuccesses = MOST_OTHERS;
  private maxErrors = MOST_ERRORS;
  private seq = 0;
  private readonly leftOut = METRICS.requestLogLeftOut.series();

  /**
   * @param pathOf returns the public path of an operation.
   * @param random returns a number from 0 to below 1.
   */
  constructor(
    private readonly pathOf: (operation: Pick<Operation, 'api' | 'template'>) => string,
    isOn = true,
    private readonly random: () => number = Math.random,
  ) {
    this.isOn = isOn;
  }

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
    const slots = (this.slots ??= new RequestSlots(MOST_ROWS));
    const account = this.accounts.get(accountId) ?? this.addAccount(accountId);
    if (account === undefined) {
      this.leftOut.inc();
      return;
    }
    if (!account.isListed) this.listAccount(account);
    const kind = kindOf(status);
    const sample = (account.samples[kind] ??= new Sample());
    this.seq += 1;
    const slot = this.slotFor(sample, kind, slots);
    if (slot >= 0) slots.store(slot, request, keyId, status, durationMs, nowMs, this.seq);
  }

  get accountsHeld(): number {
    return this.accounts.size;
  }

  get accountsWaiting(): number {
    return this.listed.length;
  }

  /**
   * Drops rows until `limit` are left, evenly across accounts and errors last. Keeps at least one row per account and
   * kind.
   */
  shrink(limit: number): void {
    while (this.length > limit && this.reduceLimits()) continue;
  }

  /**
   * Moves the rows of the oldest listed account to `into`.
   * @param limitFor returns the maximum rows of an account. Dropped rows are counted in the weight of the others.
   */
  takeFirst(limitFor: (accountId: string) => number, into: RequestLogRow[]): void {
    const account = this.listed.shift();
    const { slots } = this;
    if (account === undefined || slots === undefined) return;
    account.isListed = false;
    account.idleWrites = 0;
    const { id, samples } = account;
    const kept = samples.map((sample) => sample?.kept ?? 0);
    const shares = shareOut(limitFor(id), kept);
    for (const [kind, sample] of samples.entries()) {
      if (sample === undefined) continue;
      while (sample.kept > shares[kind]!) slots.release(sample.leaveOut(this.random(), slots.next));
      if (sample.kept === 0) this.leftOut.inc(sample.seen);
      sample.drain(slots.next, (slot, weight) => {
        into.push(this.rowOf(id, slots, slot, weight));
        slots.release(slot);
      });
    }
  }

  /** Ends a write: restores the limits per account, and removes accounts that have been idle for two writes. */
  endWrite(): void {
    this.maxSuccesses = MOST_OTHERS;
    this.maxErrors = MOST_ERRORS;
    for (const account of this.accounts.values()) {
      if (!account.isListed && ++account.idleWrites > MAX_IDLE_WRITES) this.accounts.delete(account.id);
    }
  }

  private addAccount(accountId: string): LoggedAccount | undefined {
    if (this.accounts.size >= MOST_ACCOUNTS) return undefined;
    const account = new LoggedAccount(accountId);
    this.accounts.set(accountId, account);
    return account;
  }

  private listAccount(account: LoggedAccount): void {
    account.isListed = true;
    this.listed.push(account);
  }

  /** Returns the slot for the next request of a sample, or -1 if it is not kept. */
  private slotFor(sample: Sample, kind: number, slots: RequestSlots): number {
    const isError = kind !== NO_ERROR;
    if (sample.isWhole(this.limitFor(isError))) {
      while (slots.freeCount === 0 && (this.reduceLimits() || (isError && this.dropSuccesses(slots)))) continue;
      // The reduction may have affected this sample, too.
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
   * Halves the limits per account, first for successful requests. Returns false if they are already at one row per
   * kind.
   */
  private reduceLimits(): boolean {
    if (this.maxSuccesses > 1 && this.maxSuccesses >= this.maxErrors)
      this.maxSuccesses = Math.ceil(this.maxSuccesses / 2);
    else if (this.maxErrors > 1) this.maxErrors = Math.ceil(this.maxErrors / 2);
    else return false;
    for (const { samples } of this.listed) this.trim(samples);
    return true;
  }

  /** Drops the successful requests of every second account. Returns false if there are none. */
  private dropSuccesses(slots: RequestSlots): boolean {
    let count = 0;
    for (const { samples } of this.listed) {
      const sample = samples[NO_ERROR];
      if (sample === undefined || sample.kept === 0 || count++ % 2 === 1) continue;
      while (sample.kept > 0) slots.release(sample.leaveOut(this.random(), slots.next));
    }
    return count > 0;
  }

  private trim(samples: readonly (Sample | undefined)[]): void {
    const { slots } = this;
    if (slots === undefined) return;
    for (const [kind, sample] of samples.entries()) {
      const limit = this.limitFor(kind !== NO_ERROR);
      while (sample !== undefined && sample.kept > limit) slots.release(sample.leaveOut(this.random(), slots.next));
    }
  }

  private rowOf(accountId: string, slots: RequestSlots, slot: number, weight: number): RequestLogRow {
    const { operation, ...request } = slots.read(slot);
    const route = operation === undefined ? '' : this.pathOf(operation);
    return { accountId, node: this.node, operation: operation?.id ?? '', route, weight, ...request };
  }
}
