/**
 * Stores requests that wait to be written to the request log, in arrays of numbers and bytes. Storing a request
 * allocates no objects and keeps no object of the request alive (decision 0026). Request IDs and addresses are copied,
 * because a reference to a substring would keep the whole text alive. Other texts belong to the configuration, the API
 * key or the program, and are stored as references.
 */
import type { EndedRequest, RequestLogSource } from './request-log-row.js';

/** Maximum length of a request ID in bytes. */
const LONGEST_REQUEST_ID = 128;
/** Maximum length of an address in bytes: an IPv6 address that contains an IPv4 address. */
const LONGEST_ADDRESS = 45;
const UNKNOWN_METHOD = '';

/** The content of a slot. `RequestLogRow` describes the fields. */
export interface StoredRequest {
  readonly at: number;
  readonly seq: number;
  readonly keyId: string;
  readonly operation: EndedRequest['operation'];
  readonly method: string;
  readonly status: number;
  readonly code: string;
  readonly durationUs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly requestId: string;
  readonly ip: string;
  readonly source: RequestLogSource;
  readonly tool: string;
}

/** RequestSlots has a fixed number of slots, which are numbered from 0. Each slot stores one request. */
export class RequestSlots {
  private readonly endTimes: Float64Array;
  private readonly seqs: Float64Array;
  private readonly durations: Float64Array;
  private readonly bytesIn: Float64Array;
  private readonly bytesOut: Float64Array;
  private readonly statuses: Uint16Array;
  private readonly idLengths: Uint8Array;
  private readonly ipLengths: Uint8Array;
  private readonly ids: Buffer;
  private readonly ips: Buffer;
  private readonly keyIds: string[] = [];
  private readonly operations: EndedRequest['operation'][] = [];
  private readonly methods: string[] = [];
  private readonly codes: string[] = [];
  /** Called MCP tools; undefined for requests that did not arrive through MCP. */
  private readonly tools: (string | undefined)[] = [];
  /** Stack of free slots. `freeCount` is its size. */
  private readonly free: Uint32Array;
  /** Next slot of the same sample, by slot. `Sample` owns the values. */
  readonly next: Int32Array;
  freeCount: number;

  constructor(readonly size: number) {
    const numbers = (): Float64Array => new Float64Array(size);
    this.endTimes = numbers();
    this.seqs = numbers();
    this.durations = numbers();
    this.bytesIn = numbers();
    this.bytesOut = numbers();
    this.statuses = new Uint16Array(size);
    this.idLengths = new Uint8Array(size);
    this.ipLengths = new Uint8Array(size);
    this.ids = Buffer.alloc(size * LONGEST_REQUEST_ID);
    this.ips = Buffer.alloc(size * LONGEST_ADDRESS);
    // Low slots are on top of the stack. So the process touches only as much memory as the slots in use need.
    this.free = Uint32Array.from({ length: size }, (_, index) => size - 1 - index);
    this.freeCount = size;
    this.next = new Int32Array(size);
  }

  /** Returns a free slot. The caller must check `freeCount` first. */
  allocate(): number {
    return this.free[--this.freeCount]!;
  }

  release(slot: number): void {
    // A reference to the operation would keep an old configuration alive.
    this.operations[slot] = undefined;
    this.free[this.freeCount++] = slot;
  }

  store(
    slot: number,
    request: EndedRequest,
    keyId: string,
    status: number,
    durationMs: number,
    at: number,
    seq: number,
  ): void {
    this.endTimes[slot] = at;
    this.seqs[slot] = seq;
    this.durations[slot] = durationMs;
    this.bytesIn[slot] = request.bytesIn;
    this.bytesOut[slot] = request.bytesOut;
    this.statuses[slot] = status;
    const { ids, ips } = this;
    this.idLengths[slot] = ids.write(request.requestId, slot * LONGEST_REQUEST_ID, LONGEST_REQUEST_ID, 'latin1');
    this.ipLengths[slot] = ips.write(request.clientAddress, slot * LONGEST_ADDRESS, LONGEST_ADDRESS, 'latin1');
    this.keyIds[slot] = keyId;
    this.operations[slot] = request.operation;
    this.methods[slot] = request.method ?? UNKNOWN_METHOD;
    this.codes[slot] = request.problemCode;
    this.tools[slot] = request.source?.tool;
  }

  read(slot: number): StoredRequest {
    const id = slot * LONGEST_REQUEST_ID;
    const ip = slot * LONGEST_ADDRESS;
    return {
      at: this.endTimes[slot]!,
      seq: this.seqs[slot]!,
      keyId: this.keyIds[slot]!,
      operation: this.operations[slot],
      method: this.methods[slot]!,
      status: this.statuses[slot]!,
      code: this.codes[slot]!,
      durationUs: Math.round(this.durations[slot]! * 1_000),
      bytesIn: this.bytesIn[slot]!,
      bytesOut: this.bytesOut[slot]!,
      requestId: this.ids.toString('latin1', id, id + this.idLengths[slot]!),
      ip: this.ips.toString('latin1', ip, ip + this.ipLengths[slot]!),
      source: this.tools[slot] === undefined ? 'rest' : 'mcp',
      tool: this.tools[slot] ?? '',
    };
  }
}
