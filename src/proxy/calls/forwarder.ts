/**
 * Forwards one request to its service and streams the response back, with backpressure both ways. Nothing is buffered
 * but errors; what could be read as another request than the one that was let in is refused before it gets there.
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

/** What may be sent as a path: visible Latin-1 without spaces, beginning with a slash. */
const SAFE_PATH = /^\/[\x21-\xff]*$/;
const SAFE_METHOD = /^[A-Z][A-Z-]*$/;

/** How long calls may go on to targets that the configuration has replaced. */
const REPLACED_TIMEOUT_MS = 3_600_000;

/** Contents of TLS files by the service that needs them. */
export type PreparedServices = ReadonlyMap<string, BackendTlsFiles>;

/** ForwarderOptions are those of its services, and who takes the events of operations that emit. */
export interface ForwarderOptions extends UpstreamOptions {
  readonly events?: EventSink;
}

/** UploadBounds are the bounds of a body that a client sends. */
export interface UploadBounds {
  readonly maxBodyBytes: number;
  /** Between two pieces of it. */
  readonly idleTimeoutMs: number;
}

export class Forwarder implements ReadsGauges {
  private upstreams: ReadonlyMap<string, Upstream>;
  private readonly deadlines = new Deadlines();
  private readonly openSockets = new OpenWebSockets<OpenWebSocket>();
  /** Finish what they have. */
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
   * Reads what services need that are new or have changed, for `use`. Changes nothing.
   * Rejects where a file of theirs cannot be used.
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
   * Forwards to these services from now on. Those that have not changed keep their connections and what is known of
   * their targets; calls to the others are finished by what they were begun with.
   */
  use(services: GatewayFile['services'], prepared: PreparedServices = new Map()): void {
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
    for (const { metrics } of this.upstreams.values()) metrics.showTargets();
  }

  private isUnchanged(name: string, config: ServiceConfig | undefined): boolean {
    return isDeepStrictEqual(this.upstreams.get(name)?.config, config);
  }

  private retire(upstream: Upstream): void {
    this.retired.add(upstream);
    void upstream.retire(REPLACED_TIMEOUT_MS).finally(() => this.retired.delete(upstream));
  }

  /**
   * Sends a request to its service, whose response goes to the client's connection. What goes wrong before a byte of
   * it is told to `client.onFailed`: refused body, unreachable or silent backend, a backend's error in our shape. Once
   * the head is out, a failure aborts the client's connection.
   * @throws Problem when it cannot even begin.
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
    // Before the response is stored: its event is made once.
    if (emits !== undefined && events !== undefined) keepers.push(new EventKeeper(request, emits, events));
    const recorder = kept === undefined ? undefined : new ResponseRecorder(kept);
    if (recorder !== undefined) keepers.push(recorder);
    const call = new HttpCall(upstream, request, this.deadlines, new KeptSink(keepers, sink), recorder);
    if (recorder === undefined) call.start();
    else recorder.start(call);
  }

  /** What the body of a request to a service may be, also where it is not sent there. */
  uploadBounds(operation: Operation): UploadBounds {
    const { maxBodyBytes, timeouts } = this.upstreamOf({ operation }).config;
    return { maxBodyBytes, idleTimeoutMs: timeouts.idle };
  }

  /**
   * Opens a WebSocket to the request's service; told of failures as `forward`, while it is not open.
   * @param head what the client has sent behind its handshake.
   * @throws Problem as `forward`.
   */
  upgrade(request: ForwardRequest, head: Buffer): void {
    const upstream = this.upstreamOf(request);
    refuseUnsafe('GET', request.path);
    new WebSocketCall(upstream, request, this.deadlines, head, this.openSockets).start();
  }

  /**
   * The service of a request. One that was let in before the service left the configuration is served as it was when it
   * came; should its steps have taken so long that the service is closed, there is no such route any more.
   */
  private upstreamOf({ operation: { service } }: Pick<ForwardRequest, 'operation'>): Upstream {
    let upstream = this.upstreams.get(service);
    if (upstream !== undefined) return upstream;
    for (const retired of this.retired) if (retired.name === service) upstream = retired;
    if (upstream === undefined) throw new Problem('route_not_found');
    return upstream;
  }

  /** Every address of every target as it is now, times by the clock that says it is `nowMs`. */
  targets(nowMs: number): TargetStatus[] {
    return [...this.upstreams.values()].flatMap((upstream) => targetStates(upstream, nowMs));
  }

  /** Every call that is under way now, and every WebSocket that is open. */
  calls(): LiveCall[] {
    const services = [...this.upstreams.values(), ...this.retired];
    return [...services.flatMap((upstream) => upstream.calls()), ...this.openSockets];
  }

  /** Ends every open WebSocket, and each that still opens. */
  endWebSockets(): void {
    this.openSockets.end();
  }

  /** Lets calls under way finish, at most `timeoutMs`, and closes every connection. */
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
 * What the connection writes without another look ends here if it is not safe. Names and values of fields are not
 * looked at again: Node's strict parser has refused every byte that could end a line, and what we add ourselves is made
 * of those.
 */
function refuseUnsafe(method: string, path: string): void {
  if (!SAFE_PATH.test(path))
    throw new Problem('invalid_path', { detail: 'The path has characters that a URL cannot have.' });
  if (!SAFE_METHOD.test(method)) throw new Problem('bad_request', { detail: 'The method is not valid.' });
}
