/** Streams of events to clients that listen: who they are, what they are told, and when they end. */
import type { DoorRequest } from '../../admission/doors/door-request.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';
import type { Invalidation } from '../../keys/api-key.js';
import type { CachedKey } from '../../keys/cached-key.js';
import type { Problem } from '../../platform/problems/errors.js';
import type { RequestId } from '../protocol/message.js';
import { SUBSCRIPTION_MEMBER } from '../protocol/versions.js';

/** Of one key; the oldest makes room: a client that has lost its connection, unseen, opens another. */
const MOST_OF_KEY = 8;
/** Of this process. */
const MOST_STREAMS = 2_000;
/** Below the time after which load balancers cut a connection that says nothing. */
const KEEP_ALIVE_MS = 20_000;
/** After it a client has to open another one: what a stream holds is not for ever. */
const LONGEST_MS = 3_600_000;
/** Of what a client has not read. */
const MOST_UNREAD_BYTES = 16 * 1024;

const HEAD = 'Content-Type: text/event-stream\r\nCache-Control: no-store, no-transform\r\nX-Accel-Buffering: no\r\n';
const KEEP_ALIVE = ':\n\n';

/** What it needs to know of a key that was let in: why it may not go on; undefined: it may. Never rejects. */
export type RecheckKey = (hash: string, address: string) => Promise<Problem | undefined>;

/** Subscriptions are the streams that are open. */
export class Subscriptions {
  private readonly streams = new Set<EventStream>();
  private timer: NodeJS.Timeout | undefined;
  private hasEnded = false;

  constructor(
    private readonly recheck: RecheckKey,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** How many are open. */
  get size(): number {
    return this.streams.size;
  }

  /** Opens one on the response to a request. @param ofTools whether it is told of other tools. */
  open(request: DoorRequest, id: RequestId, key: CachedKey, ofTools: boolean): void {
    if (request.response.isGone) return;
    this.makeRoom(key.record.keyId);
    const stream = new EventStream(request, id, key, ofTools, this.nowMs() + LONGEST_MS);
    this.streams.add(stream);
    request.closeListener = { onClose: () => void this.streams.delete(stream) };
    if (!this.hasEnded) this.timer ??= setInterval(() => this.keepAlive(), KEEP_ALIVE_MS).unref();
    stream.begin();
    if (this.hasEnded) this.end(stream);
    // What its key has become since it was looked up was told to the streams that were open then.
    else this.look(stream, false);
  }

  /** The tools are other ones: whoever listens is told. */
  tellOfTools(): void {
    for (const stream of this.streams) stream.tellOfTools();
  }

  /** A key or an account has changed: its streams end where it may not be used any more, and see other tools else. */
  onChange(change: Invalidation): void {
    for (const stream of this.streams) {
      const { accountId, keyId } = stream.key.record;
      if (accountId !== change.accountId || (change.type === 'api_key' && change.keyId !== keyId)) continue;
      this.look(stream, true);
    }
  }

  /**
   * Ends all of them, and each that is opened from now on, as the specification wants it: with the response to what
   * they were opened by.
   */
  stop(): void {
    this.hasEnded = true;
    clearInterval(this.timer);
    this.timer = undefined;
    for (const stream of this.streams) this.end(stream);
  }

  /** Looks whether a stream may go on. @param tells whether it is told of other tools where it does. */
  private look(stream: EventStream, tells: boolean): void {
    void this.recheck(stream.key.record.hash, stream.request.clientAddress).then((problem) => {
      if (problem !== undefined) this.end(stream);
      else if (tells) stream.tellOfTools();
    });
  }

  /** Once: of a change the bus may tell twice, and both times its key is looked at. */
  private end(stream: EventStream): void {
    this.streams.delete(stream);
    stream.end();
  }

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

  private makeRoom(keyId: string): void {
    const own = [...this.streams].filter(({ key }) => key.record.keyId === keyId);
    const oldest = own.length >= MOST_OF_KEY ? own[0] : undefined;
    if (oldest !== undefined) this.end(oldest);
    if (this.streams.size < MOST_STREAMS) return;
    for (const first of this.streams) {
      this.end(first);
      return;
    }
  }
}

/** One stream. */
class EventStream {
  private readonly meta: string;
  private isOver = false;

  constructor(
    readonly request: DoorRequest,
    private readonly id: RequestId,
    readonly key: CachedKey,
    private readonly ofTools: boolean,
    readonly endsMs: number,
  ) {
    this.meta = `"_meta":{"${SUBSCRIPTION_MEMBER}":${JSON.stringify(id)}}`;
  }

  begin(): void {
    const { request } = this;
    request.nodeResponse.writeHead(200, fieldsOfLines(HEAD + request.dateLine + request.responseLines));
    const notifications = this.ofTools ? '{"toolsListChanged":true}' : '{}';
    this.say(
      `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",` +
        `"params":{${this.meta},"notifications":${notifications}}}`,
    );
  }

  tellOfTools(): void {
    if (!this.ofTools) return;
    this.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{${this.meta}}}`);
  }

  end(): void {
    if (this.isOver) return;
    const id = JSON.stringify(this.id);
    this.say(`{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete",${this.meta}}}`);
    this.isOver = true;
    this.request.nodeResponse.end();
  }

  write(text: string): void {
    const { nodeResponse, response } = this.request;
    if (this.isOver || response.isGone) return;
    // Nobody reads it: its end is that of its connection.
    if (nodeResponse.writableLength > MOST_UNREAD_BYTES) response.destroy();
    else nodeResponse.write(text);
    this.request.bytesOut += text.length;
  }

  private say(json: string): void {
    this.write(`event: message\ndata: ${json}\n\n`);
  }
}
