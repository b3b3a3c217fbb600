/**
 * Notes requests for the log until they are written. On the request path it finds the account and copies some numbers;
 * what it holds is bounded for each account, by kind of request, and over all of them: whoever asks most pushes out
 * requests of its own, never another account's, and errors stay longest.
 */
import { randomBytes } from 'node:crypto';
import { METRICS } from '../platform/metrics.js';
import { Places } from './places.js';
import type { EndedRequest, RequestLogRow } from './request-log-row.js';
import { kindOf, NO_ERROR, Sample, shareOut } from './sample.js';

/** Of all accounts together, between two writes. */
const MOST_ROWS = 5_000;
/** Of one account between two writes: of each kind of error, and of all that went well. */
const MOST_ERRORS = 250;
const MOST_OTHERS = 500;
const NODE_BYTES = 6;

/** So many writes find an account idle before what is held for it goes. */
const RESTS = 2;
/** Told apart at a time; far more than can have a row. */
const MOST_ACCOUNTS = 4 * MOST_ROWS;

/** LoggedAccount is an account with its samples, each made when there is something for it. */
class LoggedAccount {
  readonly samples: (Sample | undefined)[] = [undefined, undefined, undefined, undefined];
  isListed = false;
  rest = 0;

  constructor(readonly id: string) {}
}

/** RequestLogRecorder notes what has ended. */
export class RequestLogRecorder {
  /** This process, in the rows that it writes. */
  readonly node = randomBytes(NODE_BYTES).toString('base64url');
  /** Whether a log is kept at all. */
  isOn: boolean;
  /** Made with the first request: a process without any needs no room. */
  private places: Places | undefined;
  private readonly accounts = new Map<string, LoggedAccount>();
  /** Those that have something to be written, in the order in which they came. */
  private listed: LoggedAccount[] = [];
  /** What an account may keep of requests that went well, and of each kind of error; less when places are rare. */
  private mostOthers = MOST_OTHERS;
  private mostErrors = MOST_ERRORS;
  private seq = 0;
  private readonly leftOut = METRICS.requestLogLeftOut.series();

  /** @param random from 0 to 1, below 1. */
  constructor(
    private readonly basePath: string,
    isOn = true,
    private readonly random: () => number = Math.random,
  ) {
    this.isOn = isOn;
  }

  /** Rows that wait. */
  get length(): number {
    return this.places === undefined ? 0 : this.places.size - this.places.freeCount;
  }

  /** A request of an account has ended. On the request path. */
  note(
    request: EndedRequest,
    accountId: string,
    keyId: string,
    status: number,
    durationMs: number,
    nowMs: number,
  ): void {
    if (!this.isOn) return;
    const places = (this.places ??= new Places(MOST_ROWS));
    const account = this.accounts.get(accountId) ?? this.begin(accountId);
    if (account === undefined) {
      this.leftOut.inc();
      return;
    }
    if (!account.isListed) this.list(account);
    const kind = kindOf(status);
    const sample = (account.samples[kind] ??= new Sample());
    this.seq += 1;
    const place = this.placeIn(sample, kind, places);
    if (place >= 0) places.put(place, request, keyId, status, durationMs, nowMs, this.seq);
  }

  /** Accounts that something is held for. */
  get accountsHeld(): number {
    return this.accounts.size;
  }

  /** Accounts with something to be written. */
  get accountsWaiting(): number {
    return this.listed.length;
  }

  /** Lets rows go until there are so many, evenly and errors last; of each account a row of each kind may stay. */
  shrink(most: number): void {
    while (this.length > most && this.narrow()) continue;
  }

  /**
   * Hands out the rows of the account that has waited longest, and forgets them.
   * @param mostOf how many rows an account may have; what is left out by lot is in the weight of the others.
   */
  takeFirst(mostOf: (accountId: string) => number, into: RequestLogRow[]): void {
    const account = this.listed.shift();
    const { places } = this;
    if (account === undefined || places === undefined) return;
    account.isListed = false;
    account.rest = 0;
    const { id, samples } = account;
    const kept = samples.map((sample) => sample?.kept ?? 0);
    const shares = shareOut(mostOf(id), kept);
    for (const [kind, sample] of samples.entries()) {
      if (sample === undefined) continue;
      while (sample.kept > shares[kind]!) places.release(sample.leaveOut(this.random(), places.next));
      if (sample.kept === 0) this.leftOut.inc(sample.seen);
      sample.drain(places.next, (place, weight) => {
        into.push(this.rowOf(id, places, place, weight));
        places.release(place);
      });
    }
  }

  /**
   * A write is done: each account may keep as much again as there is room for. Lets go of accounts that nothing has
   * happened to for two of them.
   */
  turn(): void {
    this.mostOthers = MOST_OTHERS;
    this.mostErrors = MOST_ERRORS;
    for (const account of this.accounts.values()) {
      if (!account.isListed && ++account.rest > RESTS) this.accounts.delete(account.id);
    }
  }

  private begin(accountId: string): LoggedAccount | undefined {
    if (this.accounts.size >= MOST_ACCOUNTS) return undefined;
    const account = new LoggedAccount(accountId);
    this.accounts.set(accountId, account);
    return account;
  }

  private list(account: LoggedAccount): void {
    account.isListed = true;
    this.listed.push(account);
  }

  /** Where the next one of a sample is kept; -1: nowhere. */
  private placeIn(sample: Sample, kind: number, places: Places): number {
    const isError = kind !== NO_ERROR;
    if (sample.isWhole(this.mostOf(isError))) {
      while (places.freeCount === 0 && (this.narrow() || (isError && this.thinOthers(places)))) continue;
      // It may have been narrowed itself.
      if (places.freeCount > 0 && sample.isWhole(this.mostOf(isError))) {
        const place = places.take();
        sample.add(place, places.next);
        return place;
      }
    }
    return sample.replace(this.random(), places.next);
  }

  private mostOf(isError: boolean): number {
    return isError ? this.mostErrors : this.mostOthers;
  }

  /** Halves what each account may keep, first of what went well. False: it is one row of each kind already. */
  private narrow(): boolean {
    if (this.mostOthers > 1 && this.mostOthers >= this.mostErrors) this.mostOthers = Math.ceil(this.mostOthers / 2);
    else if (this.mostErrors > 1) this.mostErrors = Math.ceil(this.mostErrors / 2);
    else return false;
    for (const { samples } of this.listed) this.trim(samples);
    return true;
  }

  /** Lets what went well go of every second account. False: there is none. */
  private thinOthers(places: Places): boolean {
    let count = 0;
    for (const { samples } of this.listed) {
      const sample = samples[NO_ERROR];
      if (sample === undefined || sample.kept === 0 || count++ % 2 === 1) continue;
      while (sample.kept > 0) places.release(sample.leaveOut(this.random(), places.next));
    }
    return count > 0;
  }

  private trim(samples: readonly (Sample | undefined)[]): void {
    const { places } = this;
    if (places === undefined) return;
    for (const [kind, sample] of samples.entries()) {
      const most = this.mostOf(kind !== NO_ERROR);
      while (sample !== undefined && sample.kept > most) places.release(sample.leaveOut(this.random(), places.next));
    }
  }

  private rowOf(accountId: string, places: Places, place: number, weight: number): RequestLogRow {
    const { operation, ...request } = places.read(place);
    const route = operation === undefined ? '' : this.basePath + operation.template;
    return { accountId, node: this.node, operation: operation?.id ?? '', route, weight, ...request };
  }
}
