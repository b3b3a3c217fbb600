/**
 * Decodes chunked response bodies and their trailer fields (RFC 9112 section 7.1). Invalid bodies and oversized lines
 * are errors.
 */
import { connectionError, protocolError } from '../grammar/errors.js';
import { areFieldLines } from '../grammar/fields.js';

const enum Step {
  Size,
  Data,
  DataEnd,
  Trailers,
  Done,
}

/**
 * Maximum length of a chunk size line with its extensions, in bytes. The decoder ignores extensions, so a longer line
 * would only cost memory.
 */
const LONGEST_SIZE_LINE = 256;
const TOKEN = /[!#$%&'*+.^_`|~0-9A-Za-z-]+/.source;
const QUOTED = /"(?:[\t !\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"/.source;
const SIZE_LINE = new RegExp(
  `^([0-9A-Fa-f]{1,13})(?:[ \\t]*;[ \\t]*${TOKEN}(?:[ \\t]*=[ \\t]*(?:${TOKEN}|${QUOTED}))?)*$`,
);
const LARGEST_TRAILERS = 16 * 1024;
const CR = 0x0d;
const LF = 0x0a;

export class ChunkedBody {
  /** Validated trailer field lines, each with its CRLF. Complete when `isDone` is true. */
  trailerText = '';
  private step = Step.Size;
  /** Number of missing bytes of the current chunk, or of the CRLF after the chunk. */
  private bytesLeft = 0;
  /** Received part of a line whose end has not arrived yet. */
  private line = '';

  get isDone(): boolean {
    return this.step === Step.Done;
  }

  /**
   * Decodes the bytes from `at` to `end` of `buffer`.
   * @param onData called for each piece of data, with its range in the buffer.
   * @returns the offset of the first byte after the body, or `end` if the body continues.
   * @throws Error `TRAILGATE_BAD_ANSWER` for invalid chunks, `TRAILGATE_ANSWER_HEAD_TOO_LARGE` for oversized lines or
   *   trailers.
   */
  decode(buffer: Buffer, at: number, end: number, onData: (from: number, to: number) => void): number {
    let next = at;
    while (next < end && this.step !== Step.Done) {
      if (this.step === Step.Data) next = this.decodeData(next, end, onData);
      else if (this.step === Step.DataEnd) next = this.checkDataEnd(buffer, next);
      else next = this.decodeLine(buffer, next, end);
    }
    return next;
  }

  private decodeData(at: number, end: number, onData: (from: number, to: number) => void): number {
    const to = Math.min(end, at + this.bytesLeft);
    this.bytesLeft -= to - at;
    if (this.bytesLeft === 0) {
      this.step = Step.DataEnd;
      this.bytesLeft = 2;
    }
    onData(at, to);
    return to;
  }

  private checkDataEnd(buffer: Buffer, at: number): number {
    if (buffer[at] !== (this.bytesLeft === 2 ? CR : LF)) throw protocolError('end of a chunk');
    if (--this.bytesLeft === 0) this.step = Step.Size;
    return at + 1;
  }

  private decodeLine(buffer: Buffer, at: number, end: number): number {
    const limit = this.step === Step.Size ? LONGEST_SIZE_LINE : LARGEST_TRAILERS;
    const found = buffer.indexOf(LF, at);
    const isWhole = found !== -1 && found < end;
    const to = isWhole ? found + 1 : end;
    if (this.line.length + to - at > limit) throw connectionError('TRAILGATE_ANSWER_HEAD_TOO_LARGE');
    const line = this.line + buffer.toString('latin1', at, to);
    if (!isWhole) {
      this.line = line;
      return to;
    }
    this.line = '';
    if (!line.endsWith('\r\n')) throw protocolError('line of a chunked body');
    if (this.step === Step.Size) this.beginChunk(line.slice(0, -2));
    else this.addTrailer(line);
    return to;
  }

  private beginChunk(line: string): void {
    const size = SIZE_LINE.exec(line)?.[1];
    if (size === undefined) throw protocolError('size of a chunk');
    this.bytesLeft = Number.parseInt(size, 16);
    this.step = this.bytesLeft === 0 ? Step.Trailers : Step.Data;
  }

  private addTrailer(line: string): void {
    if (line === '\r\n') {
      this.step = Step.Done;
      return;
    }
    if (!areFieldLines(line)) throw protocolError('field behind a body');
    this.trailerText += line;
    if (this.trailerText.length > LARGEST_TRAILERS) throw connectionError('TRAILGATE_ANSWER_HEAD_TOO_LARGE');
  }
}
