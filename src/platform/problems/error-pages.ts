/** URLs of the pages of error codes, for `type` of a problem (RFC 9457 section 3.1.1). */
import type { ErrorCode } from './errors.js';

/** ErrorPages has the current URL. It is known once a port is bound, and follows the configuration. */
export class ErrorPages {
  #url: string;

  /** @param publicUrl origin that integrators use, without a trailing slash. */
  constructor(publicUrl: string) {
    this.#url = urlUnder(publicUrl);
  }

  /** Prefix of the codes, with a trailing slash. */
  get url(): string {
    return this.#url;
  }

  /** Moves the pages to another origin, from the next response on. */
  moveTo(publicUrl: string): void {
    this.#url = urlUnder(publicUrl);
  }

  /** Returns the `type` URI of a code. */
  typeOf(code: ErrorCode): string {
    return this.#url + code;
  }
}

function urlUnder(publicUrl: string): string {
  return `${publicUrl}/docs/errors/`;
}
