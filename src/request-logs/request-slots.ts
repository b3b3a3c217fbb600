/**
 * The requests that wait to be written, in columns: numbers and bytes, so that keeping one allocates nothing and
 * nothing of a request outlives it (decision 0026). A request id or an address may be a piece of a larger text, which a
 * reference would keep whole; what is kept by reference is a text of the configuration, the key or the program.
 */
import type { EndedRequest, RequestLogSource } from './request-log-row.js';

const LONGEST_REQUEST_ID = 128;
/** An IPv6 address with an IPv4 address in it. */
const LONGEST_ADDRESS = 45;
const METHOD_OF_NOBODY = '';

/** What of a request is read again when it is written. */
export interface PlacedRequest {
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

/** Places holds a number of requests. */
export class Places {
  private readonly ats: Float64Array;
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
  /** Undefined: it was a request of the API itself. */
  private readonly tools: (string | undefined)[] = [];
  private readonly free: Uint32Array;
  /** For samples: which place follows which. */
  readonly next: Int32Array;
  /** Places that are free. */
  freeCount: number;

  constructor(readonly size: number) {
    const numbers = (): Float64Array => new Float64Array(size);
    this.ats = numbers();
    this.seqs = numbers();
    this.durations = numbers();
    this.bytesIn = numbers();
    this.bytesOut = numbers();
    this.statuses = new Uint16Array(size);
    this.idLengths = new Uint8Array(size);
    this.ipLengths = new Uint8Array(size);
    this.ids = Buffer.alloc(size * LONGEST_REQUEST_ID);
    this.ips = Buffer.alloc(size * LONGEST_ADDRESS);
    // The first place on top: those that are used again and again are few, and memory is touched for them alone.
    this.free = Uint32Array.from({ length: size }, (_, index) => size - 1 - index);
    this.freeCount = size;
    this.next = new Int32Array(size);
  }

  /** A place that is free; there must be one. */
  take(): number {
    return this.free[--this.freeCount]!;
  }

  /** Nobody needs it any more. */
  release(place: number): void {
    // Not the configuration of yesterday.
    this.operations[place] = undefined;
    this.free[this.freeCount++] = place;
  }

  /** Writes a request into a place. */
  put(
    place: number,
    request: EndedRequest,
    keyId: string,
    status: number,
    durationMs: number,
    at: number,
    seq: number,
  ): void {
    this.ats[place] = at;
    this.seqs[place] = seq;
    this.durations[place] = durationMs;
    this.bytesIn[place] = request.bytesIn;
    this.bytesOut[place] = request.bytesOut;
    this.statuses[place] = status;
    const { ids, ips } = this;
    this.idLengths[place] = ids.write(request.requestId, place * LONGEST_REQUEST_ID, LONGEST_REQUEST_ID, 'latin1');
    this.ipLengths[place] = ips.write(request.clientAddress, place * LONGEST_ADDRESS, LONGEST_ADDRESS, 'latin1');
    this.keyIds[place] = keyId;
    this.operations[place] = request.operation;
    this.methods[place] = request.method ?? METHOD_OF_NOBODY;
    this.codes[place] = request.problemCode;
    this.tools[place] = request.source?.tool;
  }

  /** Reads it again. */
  read(place: number): PlacedRequest {
    const id = place * LONGEST_REQUEST_ID;
    const ip = place * LONGEST_ADDRESS;
    return {
      at: this.ats[place]!,
      seq: this.seqs[place]!,
      keyId: this.keyIds[place]!,
      operation: this.operations[place],
      method: this.methods[place]!,
      status: this.statuses[place]!,
      code: this.codes[place]!,
      durationUs: Math.round(this.durations[place]! * 1_000),
      bytesIn: this.bytesIn[place]!,
      bytesOut: this.bytesOut[place]!,
      requestId: this.ids.toString('latin1', id, id + this.idLengths[place]!),
      ip: this.ips.toString('latin1', ip, ip + this.ipLengths[place]!),
      source: this.tools[place] === undefined ? 'rest' : 'mcp',
      tool: this.tools[place] ?? '',
    };
  }
}
