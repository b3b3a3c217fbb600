/** Where the pages of the error codes live: what `type` of a problem says (RFC 9457 section 3.1.1). */
import type { ErrorCode } from './errors.js';

/** ErrorPages is the address of the pages, which is known only when a port is bound, and follows the configuration. */
export class ErrorPages {
  #url: string;

  /** @param publicUrl origin that integrators use, without a trailing slash. */
  constructor(publicUrl: string) {
    this.#url = urlUnder(publicUrl);
  }

  /** What comes before the code, with a trailing slash. */
  get url(): string {
    return this.#url;
  }

  /** Moves the pages to another origin, from the next response on. */
  moveTo(publicUrl: string): void {
    this.#url = urlUnder(publicUrl);
  }

  /** The `type` URI of a code: its own page. */
  typeOf(code: ErrorCode): string {
    return this.#url + code;
  }
}

function urlUnder(publicUrl: string): string {
  return `${publicUrl}/docs/errors/`;
}
