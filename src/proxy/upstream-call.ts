/**
 * One call to a backend: undici's handler, writing straight to the client's connection. A small body goes out together with
 * its head in one write, which saves a tenth of the cost of a request; everything else streams.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { Problem } from '../errors.js';
import { backendProblem } from './backend-problem.js';
import type { Deadlines, Expiring } from './deadlines.js';
import { errorText } from './error-encoding.js';
import type { CloseListener, ForwardRequest } from './forward-request.js';
import { peerError, type RequestBody } from './request-body.js';
import { appendBackendResponseHeaders } from './response-headers.js';
import { failureDetail, upstreamFailure, type UpstreamOutcome } from './upstream-errors.js';
import type { Upstream } from './upstream.js';

/** Bodies up to this size wait for their end, so that head and body leave in one write. */
const LARGEST_SINGLE_WRITE_BYTES = 16 * 1024;
/** The most of an error body that is read for its meaning. */
const LARGEST_ERROR_BODY_BYTES = 64 * 1024;

export class UpstreamCall implements Dispatcher.DispatchHandler, Expiring, CloseListener {
  deadlineMs = Infinity;
  deadlineSlot = -1;
  private readonly startedMs = performance.now();
  private controller: Dispatcher.DispatchController | undefined;
  private abortReason: Error | undefined;
  private body: RequestBody | null = null;
  private status = 0;
  /** Fields of an answer whose head has not been written yet. */
  private head: (string | string[])[] | undefined;
  private expectedBytes = -1;
  private errorHeaders: IncomingHttpHeaders | undefined;
  private errorChunks: Buffer[] | undefined;
  private errorBytes = 0;
  private settled = false;
  private answerEnded = false;
  private waitingForClient = false;

  constructor(
    private readonly upstream: Upstream,
    private readonly request: ForwardRequest,
    private readonly deadlines: Deadlines,
    private readonly resolve: () => void,
    private readonly reject: (problem: Problem) => void,
  ) {}

  /** Begins to watch the client and the clock. */
  start(body: RequestBody | null): void {
    this.body = body;
    const { timeouts } = this.upstream.config;
    this.deadlineIn(body === null ? timeouts.connect + timeouts.firstByte : timeouts.connect + timeouts.idle);
    this.deadlines.add(this);
    this.request.client.closeListener = this;
  }

  /** A piece of the request body has arrived. */
  onBodyProgress(): void {
    this.deadlineIn(this.upstream.config.timeouts.idle);
  }

  /** The deadline has passed: the backend is too slow, or the client is, in sending or in reading. */
  expire(): void {
    if (this.waitingForClient) this.abort(peerError('TRAILGATE_CLIENT_TOO_SLOW'));
    else if (this.status > 0) this.abort(peerError('TRAILGATE_IDLE_TIMEOUT'));
    else if (this.isClientSending()) this.abort(peerError('TRAILGATE_CLIENT_TOO_SLOW'));
    else this.abort(peerError('TRAILGATE_FIRST_BYTE_TIMEOUT'));
  }

  private isClientSending(): boolean {
    return this.body !== null && !this.body.readableEnded && !this.body.isHeldByBackend;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.abortReason !== undefined) controller.abort(this.abortReason);
  }

  /** The whole request has been sent: from here on the backend has to answer. */
  onRequestSent(): void {
    if (this.status === 0) this.deadlineIn(this.upstream.config.timeouts.firstByte);
  }

  onResponseStart(_controller: unknown, status: number, headers: IncomingHttpHeaders): void {
    // 1xx is between the backend and us (RFC 9110 section 15.2).
    if (status < 200) return;
    this.status = status;
    this.deadlineIn(this.upstream.config.timeouts.idle);
    if (status >= 400) {
      this.errorHeaders = headers;
      this.errorChunks = [];
      return;
    }
    const head: (string | string[])[] = [];
    appendBackendResponseHeaders(head, headers, this.request.ownCors);
    head.push(...this.request.answerHeaders);
    this.head = head;
    const length = headers['content-length'];
    this.expectedBytes = length === undefined ? -1 : Number(length);
    const bodyless = status === 204 || status === 304 || this.request.message.method === 'HEAD';
    if (!bodyless && (this.expectedBytes < 0 || this.expectedBytes > LARGEST_SINGLE_WRITE_BYTES)) {
      this.writeHead();
      this.request.response.flushHeaders();
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.deadlineIn(this.upstream.config.timeouts.idle);
    if (this.errorChunks !== undefined) {
      this.errorBytes += chunk.length;
      if (this.errorBytes <= LARGEST_ERROR_BODY_BYTES) this.errorChunks.push(chunk);
      else this.answerWithProblem();
      return;
    }
    const { response } = this.request;
    if (this.head !== undefined) {
      const whole = chunk.length === this.expectedBytes;
      this.writeHead();
      if (whole) {
        this.endAnswer(chunk);
        return;
      }
    }
    if (!response.write(chunk)) this.waitForClient(controller);
  }

  onResponseEnd(): void {
    if (this.errorChunks !== undefined) {
      this.answerWithProblem();
      return;
    }
    // Before the call counts as over: whatever this throws comes back as `onResponseError`.
    if (this.head !== undefined) this.writeHead();
    this.finish('answered');
    if (!this.answerEnded) this.endAnswer();
    this.resolve();
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.settled) return;
    const failure = upstreamFailure(this.abortReason ?? error);
    const { response } = this.request;
    if (response.headersSent) {
      // What went out so far must not look complete: no last chunk, no matching length, the connection is cut.
      this.finish(this.abortReason === undefined ? 'body_broken_off' : failure.outcome);
      response.destroy();
      this.resolve();
      return;
    }
    this.finish(failure.outcome);
    // The bytes that undici could not parse are the backend's; they belong in no log.
    Reflect.deleteProperty(error, 'data');
    this.reject(new Problem(failure.code, { detail: failureDetail(failure), cause: error }));
  }

  private writeHead(): void {
    const { head } = this;
    this.head = undefined;
    if (head !== undefined) this.request.response.writeHead(this.status, head as string[]);
  }

  private endAnswer(chunk?: Buffer): void {
    this.answerEnded = true;
    const { response } = this.request;
    // As a Latin-1 string, byte for byte, the body joins the head in one buffer; as a Buffer the two would leave by writev.
    if (chunk === undefined) response.end();
    else response.end(chunk.toString('latin1'), 'latin1');
  }

  /** The client reads more slowly than the backend writes: stop reading until its connection has room again. */
  private waitForClient(controller: Dispatcher.DispatchController): void {
    this.waitingForClient = true;
    controller.pause();
    this.request.response.once('drain', () => {
      this.waitingForClient = false;
      this.deadlineIn(this.upstream.config.timeouts.idle);
      controller.resume();
    });
  }

  private answerWithProblem(): void {
    if (this.settled) return;
    const { errorChunks, errorHeaders = {}, status } = this;
    const whole = this.errorBytes <= LARGEST_ERROR_BODY_BYTES && errorChunks !== undefined;
    const body = whole
      ? errorText(Buffer.concat(errorChunks), errorHeaders['content-encoding'], LARGEST_ERROR_BODY_BYTES)
      : undefined;
    const problem = backendProblem({ status, headers: errorHeaders, body }, this.upstream.config.authenticates);
    this.finish('answered');
    // Whatever is left of the body is of no use; the connection goes with it.
    if (this.errorBytes > LARGEST_ERROR_BODY_BYTES) this.controller?.abort(peerError('TRAILGATE_ENOUGH'));
    this.reject(problem);
  }

  /** The client's connection is done with the answer, or gone: only one that was cut short ends the call. */
  onClose(): void {
    if (!this.settled && !this.answerEnded) this.abort(peerError('TRAILGATE_CLIENT_GONE'));
  }

  private abort(reason: Error): void {
    if (this.settled || this.abortReason !== undefined) return;
    this.abortReason = reason;
    this.deadlineMs = Infinity;
    // Still queued for a connection: undici has no handle for it yet, so it is settled here and aborted on its start.
    if (this.controller === undefined) this.onResponseError(undefined, reason);
    else this.controller.abort(reason);
  }

  private finish(outcome: UpstreamOutcome): void {
    this.settled = true;
    this.deadlines.remove(this);
    this.request.client.closeListener = undefined;
    const durationMs = performance.now() - this.startedMs;
    this.request.client.upstreamMs = durationMs;
    this.upstream.record(outcome, durationMs);
  }

  private deadlineIn(timeoutMs: number): void {
    this.deadlineMs = this.deadlines.after(timeoutMs);
  }
}
