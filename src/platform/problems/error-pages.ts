/** Provides the URLs of the documentation pages of error codes, for `type` of a problem (RFC 9457 section 3.1.1). */
import type { ErrorCode } from './errors.js';

/**
 * ErrorPages has the current URL of the pages. The URL is known after a port is bound, and changes with the
 * configuration.
 */
export class ErrorPages {
  #url: string;

  /** @param publicUrl origin that integrators use, without a trailing slash */
  constructor(publicUrl: string) {
    this.#url = pagesUrl(publicUrl);
  }

  /** Returns the URL of the pages with a trailing slash. The code of an error follows. */
  get url(): string {
    return this.#url;
  }

  /** Changes the origin of the pages, from the next response on. */
  moveTo(publicUrl: string): void {
    this.#url = pagesUrl(publicUrl);
  }

  /** Returns the URL of a code's page, which is its `type` URI. */
  typeOf(code: ErrorCode): string {
    return this.#url + code;
  }
}

function pagesUrl(publicUrl: string): string {
  return `${publicUrl}/docs/errors/`;
}
