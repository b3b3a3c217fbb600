/**
 * Manages the event streams of `subscriptions/listen`: notifications, keep-alive, limits, and the end of streams whose
 * key may no longer be used.
 */
import type { EndpointRequest } from '../../admission/mounted/endpoint-request.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';
import type { Invalidation } from '../../keys/api-key.js';
import type { CachedKey } from '../../keys/cached-key.js';
import type { Problem } from '../../platform/problems/errors.js';
import type { RequestId } from '../protocol/message.js';
import { SUBSCRIPTION_MEMBER } from '../protocol/versions.js';

/**
 * Maximum number of streams per API key. Above it, the oldest stream is ended, because clients that lost a connection
 * open a new stream.
 */
const MAX_STREAMS_OF_KEY = 8;
/** Maximum number of streams per process. Above it, the oldest stream is ended. */
const MAX_STREAMS = 2_000;
/** Interval between keep-alive comments. Shorter than the idle timeout of common load balancers. */
const KEEP_ALIVE_MS = 20_000;
/** Maximum lifetime of a stream. The client must then open another stream. */
const MAX_LIFETIME_MS = 3_600_000;
/**
 * Maximum unsent data of a stream, in bytes. Above it, the client has stopped reading, and its connection is closed.
 */
const MAX_UNREAD_BYTES = 16 * 1024;

const HEAD = 'Content-Type: text/event-stream\r\nCache-Control: no-store, no-transform\r\nX-Accel-Buffering: no\r\n';
const KEEP_ALIVE = ':\n\n';

/**
 * RecheckKey checks a key again. Resolves to the problem if the key may no longer be used, otherwise to undefined.
 * Never rejects.
 */
export type RecheckKey = (hash: string, address: string) => Promise<Problem | undefined>;

/** Subscriptions opens event streams, notifies them and ends them. */
export class Subscriptions {
  private readonly streams = new Set<EventStream>();
  private timer: NodeJS.Timeout | undefined;
  private hasEnded = false;

  constructor(
    private readonly recheck: RecheckKey,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Number of open streams. */
  get size(): number {
    return this.streams.size;
  }

  /**
   * Opens a stream as the response to a request. Does nothing if the client has disconnected.
   * @param wantsToolChanges whether to send notifications of tool changes
   */
  open(request: EndpointRequest, id: RequestId, key: CachedKey, wantsToolChanges: boolean): void {
    if (request.response.isGone) return;
    this.makeRoom(key.record.keyId);
    const stream = new EventStream(request, id, key, wantsToolChanges, this.nowMs() + MAX_LIFETIME_MS);
    this.streams.add(stream);
    request.closeListener = { onClose: () => void this.streams.delete(stream) };
    if (!this.hasEnded) this.timer ??= setInterval(() => this.keepAlive(), KEEP_ALIVE_MS).unref();
    stream.begin();
    if (this.hasEnded) this.end(stream);
    // The key may have changed between its lookup and the registration of this stream.
    else this.recheckStream(stream, false);
  }

  /** Notifies all streams that the tools of the configuration have changed. */
  notifyToolsChanged(): void {
    for (const stream of this.streams) stream.notifyToolsChanged();
  }

  /**
   * Handles a changed key or account. Ends the streams whose key may no longer be used. Notifies the other streams of
   * the key or account, because the key may have other tools now.
   */
  onChange(change: Invalidation): void {
    for (const stream of this.streams) {
      const { accountId, keyId } = stream.key.record;
      if (accountId !== change.accountId || (change.type === 'api_key' && change.keyId !== keyId)) continue;
      this.recheckStream(stream, true);
    }
  }

  /**
   * Ends all streams. From now on, `open` ends each new stream immediately. The specification requires a final response
   * to the request of a stream.
   */
  stop(): void {
    this.hasEnded = true;
    clearInterval(this.timer);
    this.timer = undefined;
    for (const stream of this.streams) this.end(stream);
  }

  /**
   * Checks the key of a stream again, and ends the stream if the key may no longer be used.
   * @param notifies whether to notify the stream of tool changes if the key is valid
   */
  private recheckStream(stream: EventStream, notifies: boolean): void {
    void this.recheck(stream.key.record.hash, stream.request.clientAddress).then((problem) => {
      if (problem !== undefined) this.end(stream);
      else if (notifies) stream.notifyToolsChanged();
    });
  }

  /** Ends a stream. May be called twice for a stream, if two checks of its key fail. */
  private end(stream: EventStream): void {
    this.streams.delete(stream);
    stream.end();
  }

  /** Sends a keep-alive comment on every stream. Ends the streams that have reached their maximum lifetime. */
  private keepAlive(): void {
    const nowMs = this.nowMs();
    for (const stream of this.streams) {
      if (nowMs >= stream.endsMs) this.end(stream);
      else stream.write(KEEP_ALIVE);
    }
    if (this.streams.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /**
   * Makes room for a new stream of a key. If the key has too many streams, ends its oldest stream. If there are too
   * many streams in total, ends the oldest stream of all.
   */
  private makeRoom(keyId: string): void {
    const own = [...this.streams].filter(({ key }) => key.record.keyId === keyId);
    const oldest = own.length >= MAX_STREAMS_OF_KEY ? own[0] : undefined;
    if (oldest !== undefined) this.end(oldest);
    if (this.streams.size < MAX_STREAMS) return;
    for (const first of this.streams) {
      this.end(first);
      return;
    }
  }
}

/** EventStream writes one open stream of server-sent events. */
class EventStream {
  private readonly meta: string;
  private isOver = false;

  constructor(
    readonly request: EndpointRequest,
    private readonly id: RequestId,
    readonly key: CachedKey,
    private readonly wantsToolChanges: boolean,
    /** Time at which the stream must end, by the clock of `Subscriptions`. */
    readonly endsMs: number,
  ) {
    this.meta = `"_meta":{"${SUBSCRIPTION_MEMBER}":${JSON.stringify(id)}}`;
  }

  begin(): void {
    const { request } = this;
    request.nodeResponse.writeHead(200, fieldsOfLines(HEAD + request.dateLine + request.responseLines));
    const notifications = this.wantsToolChanges ? '{"toolsListChanged":true}' : '{}';
    this.writeEvent(
      `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",` +
        `"params":{${this.meta},"notifications":${notifications}}}`,
    );
  }

  notifyToolsChanged(): void {
    if (!this.wantsToolChanges) return;
    this.writeEvent(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{${this.meta}}}`);
  }

  end(): void {
    if (this.isOver) return;
    const id = JSON.stringify(this.id);
    this.writeEvent(`{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete",${this.meta}}}`);
    this.isOver = true;
    this.request.nodeResponse.end();
  }

  write(text: string): void {
    const { nodeResponse, response } = this.request;
    if (this.isOver || response.isGone) return;
    // The client does not read, so it would not receive a final response.
    if (nodeResponse.writableLength > MAX_UNREAD_BYTES) response.destroy();
    else nodeResponse.write(text);
    this.request.bytesOut += text.length;
  }

  private writeEvent(json: string): void {
    this.write(`event: message\ndata: ${json}\n\n`);
  }
}
