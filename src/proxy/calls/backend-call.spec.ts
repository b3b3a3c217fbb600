/**
 * Random sequences of events during a call. The call always releases all resources and reports to its caller exactly
 * once.
 */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { configSchema } from '../../config/model/schema.js';
import { Framing, type ResponseHead } from '../../http/backend/response-head.js';
import type { Call, Sending } from '../../http/backend/call.js';
import type { ConnectionPool } from '../../http/backend/connection-pool.js';
import { Problem } from '../../platform/problems/errors.js';
import { Deadlines } from '../targets/deadlines.js';
import type { ForwardClient, ForwardRequest } from '../targets/forward-request.js';
import { Upstream } from '../targets/upstream.js';
import { ClientSink } from './client-sink.js';
import { HttpCall } from './http-call.js';
import { errorOfPeer } from '../../http/grammar/errors.js';

const LIVES = 1_500;
const AT_ONCE = 4;
const MAX_STEPS = 60;

let random: () => number;
let deadlines: Deadlines;
let upstream: Upstream;
let lives: Life[];
/** Number of times that a call was handed to a target. */
let sent: number;
/** Calls that were on a connection, so that a backend may have seen them. */
let connected: Set<Call>;

/** Reproducible random numbers (linear congruential generator). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}
const one = <T>(...of: readonly T[]): T => of[Math.trunc(random() * of.length)]!;

/** A connection that emits events in a possible order. */
class FakeConnection implements Sending {
  call: Call | undefined;
  private step: 'queued' | 'connected' | 'sent' | 'head' | 'body' = 'queued';
  private framing = Framing.None;

  constructor(call: Call) {
    this.call = call;
  }

  abort(call: Call, reason: Error): void {
    if (this.call === call) this.fail(reason);
  }
  pause(): void {}
  resume(): void {}
  endUpload(): void {}

  /** Emits the next event, or a failure. */
  advance(): void {
    const { call } = this;
    if (call === undefined) return;
    if (random() < 0.15) {
      const code = one('ECONNREFUSED', 'ECONNRESET', 'TRAILGATE_CONNECT_TIMEOUT', 'TRAILGATE_BAD_ANSWER', 'EMFILE');
      this.fail(errorOfPeer(code));
    } else if (this.step === 'queued') {
      this.step = 'connected';
      connected.add(call);
      call.onConnection(this);
    } else if (this.step === 'connected' && random() < 0.7) {
      this.step = 'sent';
      call.onSent();
    } else if (this.step === 'connected' || this.step === 'sent') {
      if (random() < 0.2) call.onInterim(head(103, Framing.None, 0));
      else this.beginResponse(call);
    } else if (random() < 0.5) call.onData(Buffer.alloc(one(1, 5_000, 20_000, 80_000)));
    else this.complete(call);
  }

  private beginResponse(call: Call): void {
    this.step = 'head';
    this.framing = one(Framing.None, Framing.Length, Framing.Chunked, Framing.Close);
    call.onHead(head(one(200, 200, 200, 204, 302, 404, 422, 500, 503), this.framing, one(0, 7, 100_000)));
    if (this.call !== call) return;
    if (this.framing === Framing.None) this.complete(call);
    else if (this.framing === Framing.Length && random() < 0.5) {
      call.onWhole(Buffer.from('{"a":1}'));
      if (this.call === call) this.complete(call);
    } else {
      this.step = 'body';
      call.onPartial();
    }
  }

  private complete(call: Call): void {
    this.call = undefined;
    call.onEnd(this.framing === Framing.Chunked ? one('', 'X-Sum: 1\r\n') : '');
  }

  fail(reason: Error): void {
    const { call } = this;
    this.call = undefined;
    call?.onError(reason);
  }
}

function head(status: number, framing: Framing, contentLength: number): ResponseHead {
  return { status, framing, contentLength, lines: 'Content-Type: text/plain\r\n' } as ResponseHead;
}

/** A request with its client, which records the result. */
class Life {
  readonly call: HttpCall;
  connection: FakeConnection | undefined;
  /** Reports to the client. In the end there must be exactly one. */
  readonly told: string[] = [];
  isRefused = false;
  private readonly response = new EventEmitter();
  private readonly client: ForwardClient;

  constructor(accountId: string) {
    const begin = () => void (response.hasBegun = true);
    Object.assign(this.response, {
      writeHead: begin,
      flushHeaders: () => undefined,
      writeInformation: () => undefined,
      addTrailers: () => undefined,
      write: () => random() < 0.6,
      end: () => this.told.push('whole'),
    });
    const response = {
      hasBegun: false,
      isGone: false,
      canWriteWhole: random() < 0.7,
      nodeResponse: this.response as unknown as ServerResponse,
      writeWhole: () => (begin(), void this.told.push('whole')),
      endConnection: () => undefined,
      destroy: () => void this.told.push('cut'),
    };
    this.client = {
      response,
      responseLines: '',
      dateLine: '',
      startedMs: 0,
      upstreamMs: -1,
      bytesIn: 0,
      bytesOut: 0,
      isStreamed: false,
      wasSent: false,
      failedTarget: '',
      failedStatus: 0,
      isUpgraded: false,
      closeListener: undefined,
      onUploadCut: () => undefined,
      onFailed: ({ code }) => void this.told.push(code),
    };
    const message = { method: one('GET', 'GET', 'HEAD', 'POST'), headers: {}, httpVersion: '1.1', socket: {} };
    this.call = new HttpCall(
      upstream,
      { accountId, message, client: this.client, path: '/', fieldLines: '', basePath: '' } as unknown as ForwardRequest,
      deadlines,
      new ClientSink(),
    );
    try {
      this.call.start();
    } catch (error) {
      this.isRefused = error instanceof Problem;
    }
  }

  get isOver(): boolean {
    return this.told.length > 0 || this.isRefused;
  }

  /** Triggers an event, mostly at the backend. */
  step(): void {
    const chance = random();
    if (chance < 0.7) this.connection?.advance();
    else if (chance < 0.8) this.response.emit('drain');
    else if (chance < 0.85) this.client.closeListener?.onClose();
    else if (chance < 0.9 && this.isHolding) this.call.expire();
    else if (chance < 0.93 && this.isHolding) this.call.revokeAccess(new Problem('invalid_api_key'));
    else if (chance < 0.96 && this.call.endpoint !== undefined && this.call.isMovable) this.call.moveToOtherTarget();
  }

  /** State of the call in `Deadlines` and `Upstream`. */
  get isHolding(): boolean {
    return this.client.closeListener !== undefined;
  }

  get upstreamMs(): number {
    return this.client.upstreamMs;
  }

  get wasSent(): boolean {
    return this.client.wasSent;
  }
}

/** A service with two targets that are ejected after so many consecutive failures; 0 for never. */
function openUpstream(failures: number): Upstream {
  const { services } = configSchema.parse({
    services: {
      s: { targets: ['http://127.0.0.1:9', 'http://127.0.0.2:9'], connections: 1, queue: 1, ejection: { failures } },
    },
    plans: {},
  });
  const opened = new Upstream('s', services['s']!, deadlines);
  for (const { endpoints } of opened.targets) for (const { pool } of endpoints) redirectCalls(pool);
  return opened;
}

beforeEach(() => {
  random = numbers(20_261_122);
  lives = [];
  sent = 0;
  connected = new Set();
  deadlines = new Deadlines();
});
afterEach(() => deadlines.stop());

/** Redirects the calls of a pool to the test's connections. */
function redirectCalls(pool: ConnectionPool): void {
  const lifeOf = (call: Call) => lives.find((life) => life.call === call);
  pool.dispatch = (call) => {
    sent++;
    const connection = new FakeConnection(call);
    const life = lifeOf(call);
    // Sent during `begin`, before the call is in the list.
    if (life === undefined) queueMicrotask(() => void (lifeOf(call)!.connection = connection));
    else life.connection = connection;
  };
  pool.cancel = (call) => {
    const life = lifeOf(call);
    if (life?.connection !== undefined) life.connection.call = undefined;
  };
}

it.each([0, 3])('a call reports once and releases everything, with ejection after %i failures', async (most) => {
  const ends = new Map<string, number>();
  let sentOnce = 0;
  upstream = openUpstream(most);
  for (let begun = 0; begun < LIVES; begun += AT_ONCE) {
    if (!upstream.isAvailable) {
      await upstream.close(0);
      upstream = openUpstream(most);
    }
    lives = Array.from({ length: AT_ONCE }, (_, at) => new Life(`acc_${at}`));
    await Promise.resolve();
    for (let step = 0; step < MAX_STEPS && !lives.every(({ isOver }) => isOver); step++) one(...lives).step();
    for (const life of lives) if (!life.isOver) life.call.expire();
    for (const { call, told, isRefused, isHolding, wasSent, upstreamMs } of lives) {
      expect(told).toHaveLength(isRefused ? 0 : 1);
      expect(isHolding).toBe(false);
      expect(wasSent).toBe(connected.has(call));
      // A call can be booked at a target without ever being on a connection.
      expect(isRefused || !wasSent || upstreamMs >= 0).toBe(true);
      if (upstreamMs >= 0) sentOnce++;
      for (const how of isRefused ? ['refused'] : told) ends.set(how, (ends.get(how) ?? 0) + 1);
    }
    expect(upstream.listCalls()).toEqual([]);
    expect((deadlines as unknown as { open: unknown[] }).open).toEqual([]);
    for (const { endpoints } of upstream.targets) expect(endpoints.map(({ inFlight }) => inFlight)).toEqual([0]);
  }
  await upstream.close(0);
  // Otherwise the sequences would not cover all cases.
  const rarest = ['whole', 'cut', 'refused', 'request_timeout', 'backend_bad_response', 'invalid_api_key'];
  expect(rarest.filter((how) => (ends.get(how) ?? 0) < LIVES / 200)).toEqual([]);
  expect(sent).toBeGreaterThan(sentOnce * 1.02);
});
