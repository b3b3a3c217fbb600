/**
 * Delivers a response to the client's connection. A small body is written together with its head, which saves a tenth
 * of the cost of a request. All other bodies are streamed, with backpressure.
 */
import { Framing, type ResponseHead } from '../../http/backend/response-head.js';
import { takesTrailers } from '../fields/trailers.js';
import { BodyBuffer } from './body-buffer.js';
import { responseHead } from './response-head.js';
import { withLength, type RespondingCall, type ResponseSink } from './response-sink.js';
import { StreamedResponse } from './streamed-response.js';

/** Maximum size of a held body. Larger bodies are streamed. */
const LARGEST_HELD_BYTES = 16 * 1024;

export class ClientSink implements ResponseSink {
  private call: RespondingCall | undefined;
  /** Field lines for the client, each with its CRLF. */
  private lines = '';
  /** Whether the response has no `Content-Length`. */
  private isUnsized = false;
  /** Whether the whole body is held until its end, because its declared length is small. */
  private isShort = false;
  /** Body pieces that were not written yet; undefined before `begin` and while the response is streamed. */
  private held: BodyBuffer | undefined;
  private streamed: StreamedResponse | undefined;

  get deliversOnlyComplete(): boolean {
    return false;
  }

  get outlivesClient(): boolean {
    return false;
  }

  begin(call: RespondingCall, head: ResponseHead, lines?: string): void {
    const { request } = call;
    const { framing, contentLength } = head;
    const isUnsized = framing === Framing.Chunked || framing === Framing.Close;
    this.call = call;
    this.isUnsized = isUnsized;
    this.lines = lines ?? responseHead(request, head.lines, call.endpoint, isUnsized);
    // A longer body, or a body of unknown length, is held only until `flush`. The body may have arrived with its head.
    this.isShort = framing === Framing.Length && contentLength <= LARGEST_HELD_BYTES;
    this.held = new BodyBuffer();
    const mayHaveTrailers = isUnsized && takesTrailers(request.message);
    if (mayHaveTrailers || framing === Framing.Close) this.stream();
  }

  addWhole(body: Buffer): void {
    if (this.held === undefined) this.write(body);
    else this.held.add(body);
  }

  addPiece(piece: Buffer): void {
    const { held } = this;
    if (held !== undefined && !held.isLargerThan(LARGEST_HELD_BYTES, piece.length)) {
      held.add(Buffer.from(piece));
      return;
    }
    this.stream();
    this.write(piece);
  }

  flush(isComplete: boolean): void {
    if (isComplete || !this.isShort) this.stream();
    this.streamed?.flush();
  }

  end(trailerText: string): void {
    const { call, held, streamed } = this;
    if (call === undefined) return;
    if (held !== undefined) {
      this.deliver(call, withLength(this.lines, held.bytes, this.isUnsized), held.buffer);
      return;
    }
    // Call `addTrailers` before `finish`. `addTrailers` can throw, and `onError` ignores errors after `finish`.
    if (trailerText !== '') streamed?.addTrailers(trailerText);
    call.finish();
    streamed?.end(undefined);
  }

  deliver(call: RespondingCall, lines: string, body: Buffer): void {
    const { client } = call.request;
    const { response } = client;
    this.call = call;
    client.bytesOut = body.length;
    if (call.method !== 'HEAD' && response.canWriteWhole) {
      call.finish();
      response.writeWhole(call.status, lines, body);
      return;
    }
    const streamed = this.open(call, lines, false);
    call.finish();
    streamed.end(body);
  }

  /**
   * Switches to streaming, and writes the held pieces. No effect if the response is already streamed. If the API key
   * was revoked, `admitStream` aborts the call instead.
   */
  private stream(): void {
    const { call, held } = this;
    if (call === undefined || held === undefined || !call.admitStream()) return;
    const streamed = this.open(call, this.lines, !this.isUnsized);
    // Flush, because Node would buffer the head. A failure in this turn of the event loop would then lose the head.
    if (!streamed.isDirect) streamed.flush();
    for (const piece of held.pieces) this.write(piece);
  }

  private open(call: RespondingCall, lines: string, isSized: boolean): StreamedResponse {
    this.held = undefined;
    const streamed = new StreamedResponse(call.request, { status: call.status, lines, isSized }, () => call.resume());
    this.streamed = streamed;
    call.markStreaming();
    return streamed;
  }

  private write(piece: Buffer): void {
    const { call, streamed } = this;
    if (call === undefined || streamed === undefined) return;
    call.request.client.bytesOut += piece.length;
    if (!streamed.write(piece)) call.stall();
  }
}
