/** The response to an inner call: taken in one piece, and given to whoever has made the call. */
import type { ServerResponse } from 'node:http';
import type { InnerResponse, RunningCall } from '../../admission/doors/inner-call.js';
import type { ClientResponse } from '../../http/client/client-response.js';
import type { Problem } from '../../platform/problems/errors.js';
import type { Exchange } from '../request/exchange.js';

const EMPTY = Buffer.alloc(0);

/** WholeResponse is a response that somebody in this process waits for. */
export class WholeResponse implements ClientResponse, InnerResponse, RunningCall {
  status = 0;
  lines = '';
  body: Buffer = EMPTY;
  isCut = false;
  problem: Problem | undefined = undefined;
  isGone = false;
  /** Set by whoever begins the call. */
  exchange: Exchange | undefined = undefined;

  /** @param mostWholeBytes of the body that is kept. @param done told once. */
  constructor(
    readonly mostWholeBytes: number,
    private readonly done: (response: InnerResponse) => void,
  ) {}

  get hasBegun(): boolean {
    return this.status !== 0;
  }

  get takesWhole(): boolean {
    return this.status === 0;
  }

  get quotaLines(): string {
    return this.exchange?.quotaLines ?? '';
  }

  /** Nothing of it is streamed: whoever asks has not looked at `mostWholeBytes`. */
  get nodeResponse(): ServerResponse {
    throw new Error('an inner call has no connection');
  }

  writeWhole(status: number, lines: string, body: string | Buffer): void {
    const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body;
    const isLarger = bytes.length > this.mostWholeBytes;
    this.end(status, lines, isLarger ? bytes.subarray(0, this.mostWholeBytes) : bytes, isLarger);
  }

  writeCut(status: number, lines: string, body: Buffer): void {
    this.end(status, lines, body.subarray(0, this.mostWholeBytes), true);
  }

  writeProblem(problem: Problem): void {
    this.problem = problem;
    this.end(problem.status, '', EMPTY, false);
  }

  /** There is no connection that could be used again. */
  endConnection(): void {}

  /** Nobody else notes its end: it has no connection that closes. */
  destroy(): void {
    this.cancel();
  }

  cancel(): void {
    if (this.isGone || this.hasBegun) return;
    this.isGone = true;
    this.exchange?.onEnd(0);
  }

  private end(status: number, lines: string, body: Buffer, isCut: boolean): void {
    // Cancelled: its end has been noted, and nobody waits.
    if (this.isGone || this.hasBegun) return;
    this.status = status;
    this.lines = lines;
    this.body = body;
    this.isCut = isCut;
    const { exchange } = this;
    if (exchange !== undefined) exchange.bytesOut = body.length;
    this.done(this);
    // Nothing of the response outlives it.
    this.body = EMPTY;
    exchange?.onEnd(status);
  }
}
