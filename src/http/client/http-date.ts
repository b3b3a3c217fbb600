/** The `Date` field of responses. */
import type { Clock } from '../../platform/clock.js';

/** HttpDate formats the `Date` field as IMF-fixdate (RFC 9110 section 5.6.7), at most once per second. */
export class HttpDate {
  private second = Number.NaN;
  private text = '';

  constructor(private readonly clock: Clock) {}

  /** The field line with its CRLF. */
  get line(): string {
    const second = Math.floor(this.clock.now() / 1_000);
    if (second !== this.second) {
      this.second = second;
      this.text = `Date: ${new Date(second * 1_000).toUTCString()}\r\n`;
    }
    return this.text;
  }
}
