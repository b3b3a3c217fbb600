/** Collects the response to an inner call in memory and passes it to the caller. */
import type { ServerResponse } from 'node:http';
import type { InnerResponse, RunningCall } from '../../admission/mounted/inner-call.js';
import type { ClientResponse } from '../../http/client/client-response.js';
import type { ResponseCaller } from '../../proxy/targets/forward-request.js';
import type { Problem } from '../../platform/problems/errors.js';
import type { Exchange } from '../request/exchange.js';

const EMPTY = Buffer.alloc(0);

/**
 * WholeResponse receives the response to an inner call from the gateway. It calls `done` once with the response or the
 * problem, unless the call is canceled.
 */
export class WholeResponse implements ClientResponse, ResponseCaller, InnerResponse, RunningCall {
  status = 0;
  lines = '';
  body: Buffer = EMPTY;
  isCut = false;
  problem: Problem | undefined = undefined;
  isGone = false;
  /** Exchange of the call. Set before the steps run. */
  exchange: Exchange | undefined = undefined;

  /**
   * @param mostBytes maximum size of the collected body in bytes; the rest is dropped
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

  /**
   * Throws. The gateway never reads this property, because `CallerSink` collects the response instead of streaming it.
   */
  get nodeResponse(): ServerResponse {
    throw new Error('an inner call has no connection');
  }

  writeWhole(status: number, lines: string, body: string | Buffer): void {
    const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body;
    const isLarger = bytes.length > this.mostBytes;
    this.end(status, lines, isLarger ? bytes.subarray(0, this.mostBytes) : bytes, isLarger);
  }

  receiveProblem(problem: Problem): void {
    this.problem = problem;
    this.end(problem.status, '', EMPTY, false);
  }

  /** Does nothing, because there is no connection. */
  endConnection(): void {}

  /** Cancels the call. There is no connection whose end would cancel it. */
  destroy(): void {
    this.cancel();
  }

  /**
   * Ends the call with status 0, as if the client had disconnected. Does nothing if the response is complete or the
   * call was canceled.
   */
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
    // Release the body, which is valid only during `done`.
    this.body = EMPTY;
    exchange?.onEnd(status);
  }
}
