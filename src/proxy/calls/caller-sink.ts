/** Delivers a complete response to a caller in this process, truncated at the caller's limit. */
import { Framing, type ResponseHead } from '../../http/backend/response-head.js';
import { HeldBody } from './held-body.js';
import { responseHead } from './response-head.js';
import { withLength, type RespondingCall, type ResponseSink } from './response-sink.js';

export class CallerSink implements ResponseSink {
  private call: RespondingCall | undefined;
  private lines = '';
  private isUnsized = false;
  private readonly held = new HeldBody();

  /** Creates the sink. @param mostBytes maximum number of body bytes that the caller keeps. */
  constructor(private readonly mostBytes: number) {}

  get isWholeOnly(): boolean {
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
    this.deliver(call, this.lines, held.whole);
    call.dropRest();
  }

  flush(): void {
    // The caller gets nothing before the end.
  }

  end(): void {
    const { call, held } = this;
    if (call !== undefined) this.deliver(call, withLength(this.lines, held.bytes, this.isUnsized), held.whole);
  }

  deliver(call: RespondingCall, lines: string, body: Buffer): void {
    const { client } = call.request;
    client.bytesOut = Math.min(body.length, this.mostBytes);
    call.finish();
    client.response.writeWhole(call.status, lines, body);
  }
}
