/** Formats the `Date` field of responses. */
import type { Clock } from '../../platform/clock.js';

/**
 * HttpDate provides the `Date` field as an IMF-fixdate (RFC 9110 section 5.6.7). It formats the date at most once per
 * second.
 */
export class HttpDate {
  private second = Number.NaN;
  private text = '';

  constructor(private readonly clock: Clock) {}

  /** `Date` field line for the current second, with its CRLF. */
  get line(): string {
    const second = Math.floor(this.clock.now() / 1_000);
    if (second !== this.second) {
      this.second = second;
      this.text = `Date: ${new Date(second * 1_000).toUTCString()}\r\n`;
    }
    return this.text;
  }
}
