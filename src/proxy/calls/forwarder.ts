/**
 * Forwards requests to their services and streams the responses back, with backpressure in both directions. Only errors
 * and small responses are buffered. Rejects a method or path that a backend could parse differently than the gateway
 * did.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { GatewayFile, Operation, ServiceConfig } from '../../config/model/schema.js';
import type { ReadsGauges } from '../../platform/metrics-text.js';
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
import { EventKeeper, type EventSink } from './event-keeper.js';
import { CallerSink } from './caller-sink.js';
import { ClientSink } from './client-sink.js';
import { KeptSink, type ResponseKeeper } from './kept-sink.js';
import { ResponseRecorder } from './response-recorder.js';
import { Upstream, type UpstreamOptions } from '../targets/upstream.js';

/** A path of visible Latin-1 characters that begins with a slash. */
const SAFE_PATH = /^\/[\x21-\xff]*$/;
const SAFE_METHOD = /^[A-Z][A-Z-]*$/;

/** Time limit for calls to services that the configuration has replaced. */
const REPLACED_TIMEOUT_MS = 3_600_000;

/** TLS file contents by service name. */
export type PreparedServices = ReadonlyMap<string, BackendTlsFiles>;

/** ForwarderOptions are the options of its services, and the receiver of emitted events. */
export interface ForwarderOptions extends UpstreamOptions {
  readonly events?: EventSink;
}

/** UploadBounds limit a request body. */
export interface UploadBounds {
  readonly maxBodyBytes: number;
  /** Maximum pause between two pieces. */
  readonly idleTimeoutMs: number;
}

export class Forwarder implements ReadsGauges {
  private upstreams: ReadonlyMap<string, Upstream>;
  private readonly deadlines = new Deadlines();
  private readonly openSockets = new OpenWebSockets<OpenWebSocket>();
  /** Replaced services that still finish their calls. */
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
   * be used.
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
   * Replaces the services. Unchanged ones keep their connections and the health of their targets. Replaced ones finish
   * their calls with the old configuration.
   */
  replaceServices(services: GatewayFile['services'], prepared: PreparedServices = new Map()): void {
    const before = this.upstreams;
    const unchanged = new Map([...before].filter(([name]) => this.isUnchanged(name, services[name])));
    for (const [name, upstream] of before) if (!unchanged.has(name)) this.retire(upstream);
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
   * Sends a request to its service and writes the response to the client. A failure before the first byte is reported
   * to `client.onFailed`: rejected body, unreachable or silent backend, error response. A later failure aborts the
   * client's connection.
   * @throws Problem if the call cannot start.
   */
  forward(request: ForwardRequest): void {
    const upstream = this.upstreamOf(request);
    const { message } = request;
    refuseUnsafe(message.method ?? '', request.path);
    refuseTooLarge(message, upstream.config.maxBodyBytes);
    const { operation, kept, client } = request;
    const { emits } = operation;
    const sink = client.caller === undefined ? new ClientSink() : new CallerSink(client.caller.mostBytes);
    if (emits === undefined && kept === undefined) {
      new HttpCall(upstream, request, this.deadlines, sink).start();
      return;
    }
    const { events } = this.options;
    const keepers: ResponseKeeper[] = [];
    // Before the recorder, so that a replayed response emits no second event.
    if (emits !== undefined && events !== undefined) keepers.push(new EventKeeper(request, emits, events));
    const recorder = kept === undefined ? undefined : new ResponseRecorder(kept);
    if (recorder !== undefined) keepers.push(recorder);
    const call = new HttpCall(upstream, request, this.deadlines, new KeptSink(keepers, sink), recorder);
    if (recorder === undefined) call.start();
    else recorder.start(call);
  }

  /** Returns the limits for request bodies of an operation. They also apply when the request is not forwarded. */
  uploadBounds(operation: Operation): UploadBounds {
    const { maxBodyBytes, timeouts } = this.upstreamOf({ operation }).config;
    return { maxBodyBytes, idleTimeoutMs: timeouts.idle };
  }

  /**
   * Opens a WebSocket to the request's service. Reports failures as `forward` does until it is open.
   * @param head bytes that the client sent after its handshake.
   * @throws Problem as `forward`.
   */
  upgrade(request: ForwardRequest, head: Buffer): void {
    const upstream = this.upstreamOf(request);
    refuseUnsafe('GET', request.path);
    new WebSocketCall(upstream, request, this.deadlines, head, this.openSockets).start();
  }

  /**
   * Returns the service of a request. A request admitted before its service was removed still uses the retired service.
   * @throws Problem `route_not_found` if that service has been closed since.
   */
  private upstreamOf({ operation: { service } }: Pick<ForwardRequest, 'operation'>): Upstream {
    let upstream = this.upstreams.get(service);
    if (upstream !== undefined) return upstream;
    for (const retired of this.retired) if (retired.name === service) upstream = retired;
    if (upstream === undefined) throw new Problem('route_not_found');
    return upstream;
  }

  /**
   * Lists the state of every address of every target. @param nowMs the current time of the clock for the returned
   * timestamps.
   */
  listTargets(nowMs: number): TargetStatus[] {
    return [...this.upstreams.values()].flatMap((upstream) => targetStates(upstream, nowMs));
  }

  /** Lists all calls in progress and all open WebSockets. */
  listCalls(): LiveCall[] {
    const services = [...this.upstreams.values(), ...this.retired];
    return [...services.flatMap((upstream) => upstream.listCalls()), ...this.openSockets];
  }

  /** Ends all open WebSockets, and any that opens later. */
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
 * Rejects a method or path that is unsafe to write to a connection as it is. Header fields need no second check,
 * because Node's strict parser rejected every byte that could end a line. The gateway's own fields consist of checked
 * values.
 */
function refuseUnsafe(method: string, path: string): void {
  if (!SAFE_PATH.test(path))
    throw new Problem('invalid_path', { detail: 'The path contains characters that are not allowed in a URL.' });
  if (!SAFE_METHOD.test(method)) throw new Problem('bad_request', { detail: 'The method is not valid.' });
}
