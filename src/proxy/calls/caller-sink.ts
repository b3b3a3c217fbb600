/** Delivers a complete response to a caller in this process, such as an MCP tool call. Truncates large bodies. */
import { Framing, type ResponseHead } from '../../http/backend/response-head.js';
import { BodyBuffer } from './body-buffer.js';
import { responseHead } from './response-head.js';
import { withLength, type RespondingCall, type ResponseSink } from './response-sink.js';

export class CallerSink implements ResponseSink {
  private call: RespondingCall | undefined;
  /** Field lines for the caller, each with its CRLF. */
  private lines = '';
  /** Whether the backend sent no `Content-Length`. */
  private isUnsized = false;
  private readonly held = new BodyBuffer();

  /** @param mostBytes maximum size of the body for the caller, in bytes. The caller's response drops the rest. */
  constructor(private readonly mostBytes: number) {}

  get deliversOnlyComplete(): boolean {
    return true;
  }

  get outlivesClient(): boolean {
    return false;
  }

  begin(call: RespondingCall, head: ResponseHead, lines?: string): void {
    this.call = call;
    this.isUnsized = head.framing === Framing.Chunked || head.framing === Framing.Close;
    this.lines = lines ?? responseHead(call.request, head.lines, call.endpoint, false);
  }

  addWhole(body: Buffer): void {
    this.held.add(body);
  }

  addPiece(piece: Buffer): void {
    const { call, held } = this;
    if (call === undefined || held.isLargerThan(this.mostBytes)) return;
    held.add(Buffer.from(piece));
    if (!held.isLargerThan(this.mostBytes)) return;
    this.deliver(call, this.lines, held.buffer);
    call.dropRest();
  }

  flush(): void {
    // The caller receives only complete responses.
  }

  end(): void {
    const { call, held } = this;
    if (call !== undefined) this.deliver(call, withLength(this.lines, held.bytes, this.isUnsized), held.buffer);
  }

  deliver(call: RespondingCall, lines: string, body: Buffer): void {
    const { client } = call.request;
    client.bytesOut = Math.min(body.length, this.mostBytes);
    call.finish();
    client.response.writeWhole(call.status, lines, body);
  }
}
