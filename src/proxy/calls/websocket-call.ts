/**
 * Opens a WebSocket (RFC 6455). The handshake uses the same target selection and deadlines as other calls. If the
 * backend accepts, the call ends and an `OpenWebSocket` takes over. Any other response becomes a problem.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { connectError } from '../../http/backend/connect-error.js';
import { linesOf, withoutLength } from '../../http/grammar/fields.js';
import { Problem } from '../../platform/problems/errors.js';
import { passedFields } from '../fields/response-headers.js';
import type { Deadlines } from '../targets/deadlines.js';
import type { Endpoint } from '../targets/endpoint.js';
import type { ForwardRequest } from '../targets/forward-request.js';
import type { UpstreamOutcome } from '../targets/upstream-errors.js';
import type { Upstream } from '../targets/upstream.js';
import { BackendCall } from './backend-call.js';
import { CallState } from './call-state.js';
import { ErrorResponse } from './error-response.js';
import { OpenWebSocket } from './open-websocket.js';
import type { OpenWebSockets } from './open-websockets.js';
import { peerError } from './request-body.js';
import { headersOf, letClose, sendHandshake, type HandshakeListener } from './websocket-handshake.js';

export class WebSocketCall extends BackendCall implements HandshakeListener {
  readonly method = 'GET';
  /** Handshakes are never retried. Other calls are preferred as probes of ejected targets. */
  readonly isRepeatable = false;
  protected readonly mostRetries = 0;
  protected readonly isIntact = false;
  protected readonly isClientSending = false;
  private outgoing: ClientRequest | undefined;

  constructor(
    upstream: Upstream,
    request: ForwardRequest,
    deadlines: Deadlines,
    /** Bytes that the client sent after its handshake. */
    private readonly head: Buffer,
    private readonly openSockets: OpenWebSockets<OpenWebSocket>,
  ) {
    super(upstream, request, deadlines);
  }

  /** Sends or queues the handshake. @throws Problem for the reasons of `Upstream.admit`. */
  start(): void {
    this.begin(this.upstream.config.timeouts.firstByte);
  }

  protected connect(endpoint: Endpoint): void {
    // `http-proxy` writes to the connection as soon as the connection is open.
    this.request.client.wasSent = true;
    sendHandshake(endpoint, this.request, this.head, this);
  }

  /** Ends the handshake. If the request to the backend exists, `http-proxy` then calls `onError`. */
  protected disconnect(reason: Error, from: CallState): void {
    if (this.outgoing === undefined) this.handleFailure(reason, from, true);
    else this.outgoing.destroy(reason);
  }

  /** Aborts the handshake. Returns undefined, because no open stream is cut. */
  protected endStreamOrUpload(): undefined {
    this.abort(peerError('TRAILGATE_ACCESS_ENDED'));
  }

  onOutgoing(outgoing: ClientRequest): void {
    this.outgoing = outgoing;
  }

  /** Opens the WebSocket. `http-proxy` then sends `response.headers` to the client. */
  onUpgrade(response: IncomingMessage, backend: Socket): void {
    const { request, openSockets } = this;
    const { client, message } = request;
    // RFC 9110 section 8.6: a 1xx response has no Content-Length.
    const lines = withoutLength(passedFields(linesOf(response.rawHeaders)).lines);
    response.headers = { connection: 'Upgrade', upgrade: 'websocket', ...headersOf(lines + client.responseLines) };
    letClose(message.socket);
    this.status = 101;
    client.isUpgraded = true;
    this.end('answered');
    const opened = new OpenWebSocket(request, backend, () => openSockets.delete(opened));
    client.closeListener = opened;
    openSockets.add(opened);
  }

  onResponse(response: IncomingMessage): void {
    if (this.state >= CallState.Aborting) {
      response.destroy();
      return;
    }
    // `connect` does not report the connection, but a response proves that the connection was open.
    if (this.state === CallState.Connecting) this.changeState(CallState.Sent);
    this.changeState(CallState.Failing);
    this.deadlineIn(this.upstream.config.timeouts.idle);
    this.status = response.statusCode ?? 0;
    const error = new ErrorResponse(this.status, response.rawHeaders);
    const done = (): void => {
      response.destroy();
      if (this.state !== CallState.Ended) this.endWithError(this.problemOf(error));
    };
    response.on('data', (chunk: Buffer) => {
      error.add(chunk);
      if (error.isTooLarge) done();
    });
    response.on('end', done);
    response.on('error', done);
  }

  onError(error: Error): void {
    if (this.state === CallState.Ended) return;
    this.handleFailure(connectError(error), CallState.Sent, this.state === CallState.Aborting);
  }

  private problemOf(error: ErrorResponse): Problem {
    const { authenticates, errors } = this.upstream.config;
    if (this.status >= 400) return error.problem(authenticates, errors);
    return new Problem('backend_bad_response', {
      detail: 'The service behind this API did not accept the WebSocket. Include the request ID when you report it.',
    });
  }

  protected override end(outcome: UpstreamOutcome | undefined): void {
    super.end(outcome);
    // Call `letClose` later, because `http-proxy` closes the client's connection after it has reported an error.
    process.nextTick(() => letClose(this.request.message.socket));
  }
}
