/**
 * Forwards requests to their services and streams the responses back, with backpressure in both directions. Buffers
 * only error responses, small responses, responses to store, and responses for callers in this process. Rejects a
 * method or path that a backend could parse differently than the gateway did.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { GatewayFile, Operation, ServiceConfig } from '../../config/model/schema.js';
import type { ReadsGauges } from '../../platform/collect-metrics.js';
import { Problem } from '../../platform/problems/errors.js';
import type { ClientMessage } from '../../http/client/client-response.js';
import { readBackendTls, type BackendTlsFiles } from '../targets/backend-tls.js';
import { Deadlines } from '../targets/deadlines.js';
import type { ForwardRequest } from '../targets/forward-request.js';
import type { OpenWebSocket } from './open-websocket.js';
import { OpenWebSockets } from './open-websockets.js';
import type { LiveCall } from '../targets/pending-call.js';
import { targetStates, type TargetStatus } from '../targets/target-status.js';
import { HttpCall } from './http-call.js';
import { WebSocketCall } from './websocket-call.js';
import { EventRecorder, type EventSink } from './event-recorder.js';
import { CallerSink } from './caller-sink.js';
import { ClientSink } from './client-sink.js';
import { RecorderSink, type ResponseRecorder } from './recorder-sink.js';
import { IdempotencyRecorder } from './idempotency-recorder.js';
import { Upstream, type UpstreamOptions } from '../targets/upstream.js';

/** Matches a path that begins with a slash and contains no spaces, line breaks, or characters beyond Latin-1. */
const SAFE_PATH = /^\/[\x21-\xff]*$/;
const SAFE_METHOD = /^[A-Z][A-Z-]*$/;

/** Maximum time in which a replaced or removed service can finish its calls. */
const REPLACED_TIMEOUT_MS = 3_600_000;

/** TLS file contents by service name, read by `Forwarder.prepare`. */
export type PreparedServices = ReadonlyMap<string, BackendTlsFiles>;

/** ForwarderOptions are the options of all services, and the receiver of emitted events. */
export interface ForwarderOptions extends UpstreamOptions {
  readonly events?: EventSink;
}

/** UploadBounds limit a request body. */
export interface UploadBounds {
  readonly maxBodyBytes: number;
  /** Maximum time between two pieces of the body. */
  readonly idleTimeoutMs: number;
}

export class Forwarder implements ReadsGauges {
  private upstreams: ReadonlyMap<string, Upstream>;
  private readonly deadlines = new Deadlines();
  private readonly openSockets = new OpenWebSockets<OpenWebSocket>();
  /** Replaced and removed services that still finish their calls. */
  private readonly retired = new Set<Upstream>();

  constructor(
    services: GatewayFile['services'],
    private readonly options: ForwarderOptions = {},
  ) {
    this.upstreams = new Map(
      Object.entries(services).map(([name, config]) => [name, new Upstream(name, config, this.deadlines, options)]),
    );
  }

  /**
   * Reads the TLS files of new and changed services, for `replaceServices`. Changes nothing. Rejects if a file cannot
   * be read or is not valid.
   */
  async prepare(services: GatewayFile['services']): Promise<PreparedServices> {
    const files = new Map<string, BackendTlsFiles>();
    for (const [name, config] of Object.entries(services)) {
      if (config.tls === undefined || this.isUnchanged(name, config)) continue;
      files.set(name, await readBackendTls(name, config.tls, this.options.folder ?? '.'));
      await nextTurn();
    }
    return files;
  }

  /**
   * Replaces the services. Unchanged services keep their connections and the health of their targets. Replaced services
   * finish their calls with the old configuration.
   */
  replaceServices(services: GatewayFile['services'], prepared: PreparedServices = new Map()): void {
    const previous = this.upstreams;
    const unchanged = new Map([...previous].filter(([name]) => this.isUnchanged(name, services[name])));
    for (const [name, upstream] of previous) if (!unchanged.has(name)) this.retire(upstream);
    this.upstreams = new Map(
      Object.entries(services).map(([name, config]) => [
        name,
        unchanged.get(name) ?? new Upstream(name, config, this.deadlines, this.options, prepared.get(name)),
      ]),
    );
  }

  readGauges(): void {
    for (const { metrics } of this.upstreams.values()) metrics.updateTargets();
  }

  private isUnchanged(name: string, config: ServiceConfig | undefined): boolean {
    return isDeepStrictEqual(this.upstreams.get(name)?.config, config);
  }

  private retire(upstream: Upstream): void {
    this.retired.add(upstream);
    void upstream.retire(REPLACED_TIMEOUT_MS).finally(() => this.retired.delete(upstream));
  }

  /**
   * Sends a request to its service and writes the response to the client. Before the first byte of the response, passes
   * failures and error responses to `client.onFailed`. A later failure aborts the client's connection.
   * @throws Problem if the call cannot start.
   */
  forward(request: ForwardRequest): void {
    const upstream = this.upstreamOf(request);
    const { message } = request;
    refuseUnsafe(message.method ?? '', request.path);
    refuseTooLarge(message, upstream.config.maxBodyBytes);
    const { operation, idempotency, client } = request;
    const { emits } = operation;
    const sink = client.caller === undefined ? new ClientSink() : new CallerSink(client.caller.mostBytes);
    if (emits === undefined && idempotency === undefined) {
      new HttpCall(upstream, request, this.deadlines, sink).start();
      return;
    }
    const { events } = this.options;
    const recorders: ResponseRecorder[] = [];
    // Store the event before the response. A stored response is replayed without emitting an event.
    if (emits !== undefined && events !== undefined) recorders.push(new EventRecorder(request, emits, events));
    const recorder = idempotency === undefined ? undefined : new IdempotencyRecorder(idempotency);
    if (recorder !== undefined) recorders.push(recorder);
    const call = new HttpCall(upstream, request, this.deadlines, new RecorderSink(recorders, sink), recorder);
    if (recorder === undefined) call.start();
    else recorder.start(call);
  }

  /**
   * Returns the limits for request bodies of an operation. The limits also apply to the bodies of requests that get a
   * stored response and are not forwarded.
   */
  uploadBounds(operation: Operation): UploadBounds {
    const { maxBodyBytes, timeouts } = this.upstreamOf({ operation }).config;
    return { maxBodyBytes, idleTimeoutMs: timeouts.idle };
  }

  /**
   * Opens a WebSocket to the request's service. Until the WebSocket is open, reports failures to `client.onFailed`.
   * @param head bytes that the client sent after its handshake.
   * @throws Problem if the call cannot start.
   */
  upgrade(request: ForwardRequest, head: Buffer): void {
    const upstream = this.upstreamOf(request);
    refuseUnsafe('GET', request.path);
    new WebSocketCall(upstream, request, this.deadlines, head, this.openSockets).start();
  }

  /**
   * Returns the service of a request. A request admitted before its service was removed still uses the retired service.
   * @throws Problem `route_not_found` if the retired service has been closed.
   */
  private upstreamOf({ operation: { service } }: Pick<ForwardRequest, 'operation'>): Upstream {
    let upstream = this.upstreams.get(service);
    if (upstream !== undefined) return upstream;
    for (const retired of this.retired) if (retired.name === service) upstream = retired;
    if (upstream === undefined) throw new Problem('route_not_found');
    return upstream;
  }

  /**
   * Lists the state of every address of every target. @param nowMs current time in milliseconds since the epoch, for
   * the returned timestamps.
   */
  listTargets(nowMs: number): TargetStatus[] {
    return [...this.upstreams.values()].flatMap((upstream) => targetStates(upstream, nowMs));
  }

  /** Lists all calls in progress and all open WebSockets. */
  listCalls(): LiveCall[] {
    const services = [...this.upstreams.values(), ...this.retired];
    return [...services.flatMap((upstream) => upstream.listCalls()), ...this.openSockets];
  }

  /** Closes all open WebSockets, and each WebSocket that opens later. */
  endWebSockets(): void {
    this.openSockets.end();
  }

  /** Waits up to `timeoutMs` for calls in progress, then closes all connections. */
  async close(timeoutMs: number): Promise<void> {
    const all = [...this.upstreams.values(), ...this.retired];
    await Promise.all(all.map((upstream) => upstream.close(timeoutMs)));
    this.deadlines.stop();
  }
}

function refuseTooLarge(message: ClientMessage, maxBodyBytes: number): void {
  if (Number(message.headers['content-length'] ?? 0) > maxBodyBytes) {
    throw new Problem('content_too_large', { detail: `The request body is larger than ${maxBodyBytes} bytes.` });
  }
}

/**
 * Rejects a method or path that is unsafe to write to a connection unchanged. The client's header fields need no second
 * check, because a strict parser rejected every byte that could end a line. The gateway's own fields consist of checked
 * values.
 */
function refuseUnsafe(method: string, path: string): void {
  if (!SAFE_PATH.test(path))
    throw new Problem('invalid_path', { detail: 'The path contains characters that are not allowed in a URL.' });
  if (!SAFE_METHOD.test(method)) throw new Problem('bad_request', { detail: 'The method is not valid.' });
}
