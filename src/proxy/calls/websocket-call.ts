/**
 * The call that opens a WebSocket (RFC 6455): its handshake goes out like any call, by the same choice of target and
 * within the same deadlines. When both sides have agreed, the call is over and an `OpenWebSocket` begins. What a
 * backend responds instead is an error in our shape.
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
  /** It is never sent a second time, so it is no request to try an ejected target with. */
  readonly isRepeatable = false;
  protected readonly mostRetries = 0;
  protected readonly isIntact = false;
  protected readonly isClientSending = false;
  private outgoing: ClientRequest | undefined;

  constructor(
    upstream: Upstream,
    request: ForwardRequest,
    deadlines: Deadlines,
    /** What has arrived behind the head of the handshake. */
    private readonly head: Buffer,
    private readonly openSockets: OpenWebSockets<OpenWebSocket>,
  ) {
    super(upstream, request, deadlines);
  }

  /** Sends it, or lets it wait for a connection. @throws Problem as `Upstream.admit`. */
  start(): void {
    this.begin(this.upstream.config.timeouts.firstByte);
  }

  protected connect(endpoint: Endpoint): void {
    // From here on it is the library's, which writes to the connection as soon as that is open.
    this.request.client.wasSent = true;
    sendHandshake(endpoint, this.request, this.head, this);
  }

  /** Comes back as `onError`. */
  protected disconnect(reason: Error, from: CallState): void {
    if (this.outgoing === undefined) this.failed(reason, from, true);
    else this.outgoing.destroy(reason);
  }

  /** What would be open for long is not opened; nothing of it has been passed on yet. */
  protected cutShort(): undefined {
    this.abort(peerError('TRAILGATE_ACCESS_ENDED'));
  }

  onOutgoing(outgoing: ClientRequest): void {
    this.outgoing = outgoing;
  }

  /** The backend agrees: its fields become those that the client gets. */
  onUpgrade(response: IncomingMessage, backend: Socket): void {
    const { request, openSockets } = this;
    const { client, message } = request;
    // RFC 9110 section 8.6: nothing in the 100s has a length.
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
    // A connection has it, or there would be no response.
    if (this.state === CallState.Connecting) this.enter(CallState.Sent);
    this.enter(CallState.Failing);
    this.deadlineIn(this.upstream.config.timeouts.idle);
    this.status = response.statusCode ?? 0;
    const error = new ErrorResponse(this.status, response.rawHeaders);
    const done = (): void => {
      response.destroy();
      if (this.state !== CallState.Ended) this.refusedBy(this.problemOf(error));
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
    this.failed(connectError(error), CallState.Sent, this.state === CallState.Aborting);
  }

  private problemOf(error: ErrorResponse): Problem {
    const { authenticates, errors } = this.upstream.config;
    if (this.status >= 400) return error.problem(authenticates, errors);
    return new Problem('backend_bad_response', {
      detail: 'The service behind this API did not open the connection. Quote the request id when you report it.',
    });
  }

  protected override end(outcome: UpstreamOutcome | undefined): void {
    super.end(outcome);
    // Not at once: the library ends the connection after it has told of an error.
    process.nextTick(() => letClose(this.request.message.socket));
  }
}
