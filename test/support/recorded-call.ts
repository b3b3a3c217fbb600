/** A call on a backend connection that records its callbacks, and violations of the contract of `Call`. */
import type { Readable } from 'node:stream';
import type { ResponseHead } from '../../src/http/backend/response-head.js';
import type { Call, Sending } from '../../src/http/backend/call.js';

export interface RequestOptions {
  readonly method?: string;
  readonly target?: string;
  readonly fieldLines?: string;
  readonly body?: Readable;
  readonly bodyBytes?: number;
}

export type CallListener = (
  event: 'connection' | 'head' | 'data' | 'answered' | 'end' | 'error',
  call: RecordedCall,
) => void;

export class RecordedCall implements Call {
  readonly method: string;
  readonly target: string;
  readonly fieldLines: string;
  readonly body: Readable | null;
  readonly bodyBytes: number;
  sending: Sending | undefined;
  head: ResponseHead | undefined;
  trailerText = '';
  /** Code of the error, or its message if it has no code. Undefined if the call has not failed. */
  error: string | undefined;
  sentTimes = 0;
  answered = 0;
  ends = 0;
  /** Violations of the contract, such as a callback after the end, or a body before its head. */
  readonly breaches: string[] = [];
  readonly interim: number[] = [];
  readonly pieces: Buffer[] = [];
  /** Resolves when the call has ended or failed. */
  readonly over: Promise<this>;
  /** Called with each event, after it was recorded. */
  on: CallListener = () => {};
  private resolve!: (call: this) => void;

  constructor({ method = 'GET', target = '/', fieldLines = '', body, bodyBytes = -1 }: RequestOptions = {}) {
    this.method = method;
    this.target = target;
    this.fieldLines = fieldLines;
    this.body = body ?? null;
    this.bodyBytes = bodyBytes;
    this.over = new Promise((resolve) => (this.resolve = resolve));
  }

  get isOver(): boolean {
    return this.ends > 0;
  }

  /** The body so far, decoded as Latin-1. */
  get text(): string {
    return Buffer.concat(this.pieces).toString('latin1');
  }

  /** Code of the error, or the status if there is no error. */
  get outcome(): string {
    return this.error ?? String(this.head?.status);
  }

  onConnection(sending: Sending): void {
    this.check('onConnection', false);
    this.sending = sending;
    this.on('connection', this);
  }

  onSent(): void {
    // The response may arrive before the request is sent.
    if (this.ends > 0) this.breaches.push('onSent after the end');
    if (++this.sentTimes > 1) this.breaches.push('sent twice');
  }

  onInterim(head: ResponseHead): void {
    this.check('onInterim', false);
    this.interim.push(head.status);
  }

  onHead(head: ResponseHead): void {
    this.check('onHead', false);
    this.head = head;
    this.on('head', this);
  }

  onWhole(body: Buffer): void {
    this.check('onWhole', true);
    if (this.pieces.length > 0) this.breaches.push('a whole body behind data');
    this.pieces.push(Buffer.from(body));
    this.on('data', this);
  }

  onData(piece: Buffer): void {
    this.check('onData', true);
    if (piece.length === 0) this.breaches.push('an empty piece');
    this.pieces.push(Buffer.from(piece));
    this.on('data', this);
  }

  onPartial(): void {
    if (this.head === undefined || this.isOver) this.breaches.push('partial');
  }

  onAnswered(): void {
    this.check('onAnswered', true);
    this.answered += 1;
    this.on('answered', this);
  }

  onEnd(trailerText: string): void {
    this.check('onEnd', true);
    this.trailerText = trailerText;
    this.end();
    this.on('end', this);
  }

  onError(error: Error): void {
    if (this.ends > 0) this.breaches.push('onError after the end');
    this.error = String((error as NodeJS.ErrnoException).code ?? error.message);
    this.end();
    this.on('error', this);
  }

  private check(what: string, behindHead: boolean): void {
    if (this.ends > 0) this.breaches.push(`${what} after the end`);
    if (behindHead !== (this.head !== undefined)) this.breaches.push(`${what} out of order`);
  }

  private end(): void {
    this.ends++;
    this.resolve(this);
  }
}
