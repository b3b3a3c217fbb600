/**
 * One WebSocket (RFC 6455) between a client and a backend: the handshake goes out like any call, by the same choice of target and
 * within the same deadlines; once both sides have agreed, `http-proxy` passes the bytes. What a backend answers instead is an
 * error in our shape.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { createProxyServer } from 'http-proxy';
import { Problem } from '../../problems/errors.js';
import { connectError } from '../../http1/backend/connect-error.js';
import { fieldsOfLines, linesOf } from '../../http1/grammar/fields.js';
import type { Deadlines, Expiring } from '../targets/deadlines.js';
import type { Endpoint } from '../targets/endpoint.js';
import { ErrorResponse } from './error-response.js';
import type { CloseListener, ForwardRequest } from '../targets/forward-request.js';
import { OpenWebSocket } from './open-websocket.js';
import type { OpenWebSockets } from './open-websockets.js';
import type { CutKind, PendingCall } from '../targets/pending-call.js';
import { peerError } from './request-body.js';
import { passedFields } from '../fields/response-headers.js';
import { failedProblem } from '../targets/unavailable.js';
import { upstreamFailure, type UpstreamOutcome } from '../targets/upstream-errors.js';
import type { Upstream } from '../targets/upstream.js';

/** A handshake as `http-proxy` wants it: what it reads of a request, and who asks. */
interface Handshake {
  readonly method: 'GET';
  readonly url: string;
  readonly httpVersion: '1.1';
  readonly httpVersionMajor: 1;
  readonly headers: Record<string, string | string[]>;
  readonly call: WebSocketCall;
}

const proxy = createProxyServer({});
// Whatever becomes of a client's connection comes by here as well, as an error that would end the process if nobody listened.
proxy.on('error', () => undefined);
proxy.on('proxyReqWs', (outgoing: unknown, handshake: unknown) =>
  (handshake as Handshake).call.onHandshake(outgoing as ClientRequest),
);

export class WebSocketCall implements PendingCall, Expiring, CloseListener {
  endpoint: Endpoint | undefined;
  activeSlot = -1;
  isWaiting = false;
  nextWaiting: PendingCall | undefined;
  previousWaiting: PendingCall | undefined;
  deadlineMs = Infinity;
  deadlineSlot = -1;
  /** It is never sent a second time, so it is no request to try an ejected target with. */
  readonly isRepeatable = false;
  readonly isMovable = false;
  private readonly startedMs = performance.now();
  private outgoing: ClientRequest | undefined;
  private settled = false;
  private status = 0;
  private opened: OpenWebSocket | undefined;
  /** Why the handshake may not go on. */
  private barred: Problem | undefined;

  constructor(
    private readonly upstream: Upstream,
    readonly request: ForwardRequest,
    /** What has arrived behind the head of the handshake. */
    private readonly head: Buffer,
    private readonly deadlines: Deadlines,
    private readonly openSockets: OpenWebSockets<WebSocketCall>,
  ) {}

  get accountId(): string {
    return this.request.accountId;
  }

  /** @throws Problem as `Upstream.admit`. */
  start(): void {
    const endpoint = this.upstream.admit(this);
    const { connect, firstByte } = this.upstream.config.timeouts;
    this.deadlineMs = this.deadlines.after(connect + firstByte);
    this.deadlines.add(this);
    this.request.client.closeListener = this;
    if (endpoint !== undefined) this.send(endpoint);
  }

  send({ origin, prefix, address, tls }: Endpoint): void {
    const { request } = this;
    request.client.wasSent = true;
    const { protocol, host, hostname, port } = new URL(origin);
    const { socket } = request.message;
    // It would end the connection after an error; here the client still gets its answer.
    socket.destroySoon = () => undefined;
    const handshake: Handshake = {
      method: 'GET',
      url: prefix + request.path,
      httpVersion: '1.1',
      httpVersionMajor: 1,
      // `Host` also is the name that a certificate is checked against.
      headers: { ...grouped(fieldsOfLines(request.fieldLines)), host, connection: 'Upgrade', upgrade: 'websocket' },
      call: this,
    };
    const target = {
      protocol,
      host: address?.address ?? hostname,
      hostname: address?.address ?? hostname,
      port,
      ...tls?.current,
    };
    const options = { target, ssl: { ...tls?.serverName }, connectTimeout: this.upstream.config.timeouts.connect };
    proxy.ws(handshake as unknown as IncomingMessage, socket as Socket, this.head, options as object, (error: Error) =>
      this.onFailure(error),
    );
  }

  /** Never asked to: it is not movable. */
  move(): void {}

  refuse(problem: Problem): void {
    this.finish(undefined);
    this.request.client.onFailed(problem);
  }

  bar(problem: Problem): CutKind | undefined {
    if (this.opened !== undefined) return this.opened.cut('access_ended') ? 'websocket' : undefined;
    this.barred = problem;
    if (this.isWaiting) this.refuse(problem);
    else this.outgoing?.destroy(peerError('TRAILGATE_ACCESS_ENDED'));
    return undefined;
  }

  /** Tells the client of an open one to connect elsewhere, and ends it. */
  goAway(): void {
    this.opened?.cut('going_away');
  }

  /** The request to the backend exists and has not been sent. */
  onHandshake(outgoing: ClientRequest): void {
    this.outgoing = outgoing;
    outgoing.on('upgrade', (answer: IncomingMessage, backend: Socket) => this.onUpgrade(answer, backend));
    outgoing.on('response', (answer: IncomingMessage) => this.onRefusal(answer));
    // The library would pass such an answer on as it is.
    outgoing.on('newListener', (event: string, listener: () => void) => {
      if (event === 'response') process.nextTick(() => outgoing.off('response', listener));
    });
  }

  /** Too slow, in the handshake; an open connection has no deadline. */
  expire(): void {
    if (this.isWaiting) this.refuse(this.upstream.waitedInVain(this));
    else this.outgoing?.destroy(peerError(this.status > 0 ? 'TRAILGATE_IDLE_TIMEOUT' : 'TRAILGATE_FIRST_BYTE_TIMEOUT'));
  }

  /** The client's connection has ended: so does the backend's, by the library; or the handshake, by us. */
  onClose(): void {
    if (this.status === 101) {
      this.openSockets.delete(this);
    } else if (this.isWaiting) this.onFailure(peerError('TRAILGATE_CLIENT_GONE'));
    else this.outgoing?.destroy(peerError('TRAILGATE_CLIENT_GONE'));
  }

  /** The backend agrees: its fields become those that the client gets, and the library writes them. */
  private onUpgrade(answer: IncomingMessage, backend: Socket): void {
    const { request } = this;
    Reflect.deleteProperty(request.message.socket, 'destroySoon');
    const { lines } = passedFields(linesOf(answer.rawHeaders));
    answer.headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      ...grouped(fieldsOfLines(lines + request.client.responseLines)),
    };
    this.status = 101;
    request.client.isUpgraded = true;
    this.finish('answered');
    // Answered already; the exchange ends with the connection.
    this.request.client.closeListener = this;
    this.opened = new OpenWebSocket(request.message.socket, backend);
    this.openSockets.add(this);
  }

  /** The backend answers with something else than an upgrade. */
  private onRefusal(answer: IncomingMessage): void {
    this.status = answer.statusCode ?? 0;
    this.deadlineMs = this.deadlines.after(this.upstream.config.timeouts.idle);
    const error = new ErrorResponse(this.status, answer.rawHeaders);
    const done = (): void => {
      answer.destroy();
      if (this.settled) return;
      const { authenticates, errors } = this.upstream.config;
      const { client } = this.request;
      client.failedTarget = this.endpoint?.target ?? '';
      client.failedStatus = this.status;
      this.finish('answered');
      client.onFailed(this.status < 400 ? noUpgrade() : error.problem(authenticates, errors));
    };
    answer.on('data', (chunk: Buffer) => {
      error.add(chunk);
      if (error.isTooLarge) done();
    });
    answer.on('end', done);
    answer.on('error', done);
  }

  private onFailure(error: Error): void {
    if (this.settled) return;
    const cause = connectError(error);
    const failure = upstreamFailure(cause);
    const { client } = this.request;
    client.failedTarget = this.endpoint?.target ?? '';
    this.finish(failure.outcome);
    client.onFailed(this.barred ?? failedProblem(failure, cause));
  }

  private finish(outcome: UpstreamOutcome | undefined): void {
    this.settled = true;
    this.deadlines.remove(this);
    this.request.client.closeListener = undefined;
    // Not at once: the library ends the connection after it has told of an error.
    process.nextTick(() => Reflect.deleteProperty(this.request.message.socket, 'destroySoon'));
    if (this.isWaiting) this.upstream.leave(this);
    if (outcome === undefined || this.endpoint === undefined) return;
    const durationMs = performance.now() - this.startedMs;
    this.request.client.upstreamMs = durationMs;
    this.upstream.release(this, outcome, this.status, durationMs);
  }
}

function noUpgrade(): Problem {
  return new Problem('backend_bad_response', {
    detail: 'The service behind this API did not open the connection. Quote the request id when you report it.',
  });
}

/** Flat fields by name; several of one name in a list. */
function grouped(fields: readonly string[]): Record<string, string | string[]> {
  const byName: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] ?? '';
    const value = fields[index + 1] ?? '';
    const before = byName[name];
    byName[name] = before === undefined ? value : [before, value].flat();
  }
  return byName;
}
