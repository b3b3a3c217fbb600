/** The response to an inner call, collected in memory for the caller. */
import type { ServerResponse } from 'node:http';
import type { InnerResponse, RunningCall } from '../../admission/mounted/inner-call.js';
import type { ClientResponse } from '../../http/client/client-response.js';
import type { ResponseCaller } from '../../proxy/targets/forward-request.js';
import type { Problem } from '../../platform/problems/errors.js';
import type { Exchange } from '../request/exchange.js';

const EMPTY = Buffer.alloc(0);

/** WholeResponse collects a response and passes it to the caller. */
export class WholeResponse implements ClientResponse, ResponseCaller, InnerResponse, RunningCall {
  status = 0;
  lines = '';
  body: Buffer = EMPTY;
  isCut = false;
  problem: Problem | undefined = undefined;
  isGone = false;
  /** Set when the call starts. */
  exchange: Exchange | undefined = undefined;

  /**
   * @param mostBytes maximum number of body bytes to keep
   * @param done called once with the response, unless the call is canceled
   */
  constructor(
    readonly mostBytes: number,
    private readonly done: (response: InnerResponse) => void,
  ) {}

  get hasBegun(): boolean {
    return this.status !== 0;
  }

  get canWriteWhole(): boolean {
    return this.status === 0;
  }

  get quotaLines(): string {
    return this.exchange?.quotaLines ?? '';
  }

  /** Throws. Never called, because `CallerSink` collects the response instead of streaming it. */
  get nodeResponse(): ServerResponse {
    throw new Error('an inner call has no connection');
  }

  writeWhole(status: number, lines: string, body: string | Buffer): void {
    const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body;
    const isLarger = bytes.length > this.mostBytes;
    this.end(status, lines, isLarger ? bytes.subarray(0, this.mostBytes) : bytes, isLarger);
  }

  takeProblem(problem: Problem): void {
    this.problem = problem;
    this.end(problem.status, '', EMPTY, false);
  }

  /** Does nothing, because there is no connection. */
  endConnection(): void {}

  /** Cancels the call, because there is no connection whose end would do so. */
  destroy(): void {
    this.cancel();
  }

  /** Ends the call with status 0, as if the client had disconnected. Does nothing after the response. */
  cancel(): void {
    if (this.isGone || this.hasBegun) return;
    this.isGone = true;
    this.exchange?.onEnd(0);
  }

  private end(status: number, lines: string, body: Buffer, isCut: boolean): void {
    // The call was canceled or already has its response.
    if (this.isGone || this.hasBegun) return;
    this.status = status;
    this.lines = lines;
    this.body = body;
    this.isCut = isCut;
    const { exchange } = this;
    if (exchange !== undefined) exchange.bytesOut = body.length;
    this.done(this);
    // Release the body.
    this.body = EMPTY;
    exchange?.onEnd(status);
  }
}
