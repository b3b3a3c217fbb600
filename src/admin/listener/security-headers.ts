/** Adds security headers, such as `X-Frame-Options`, to every response of the admin listener. */
import type { FastifyReply } from 'fastify';
import { hstsField } from '../../config/model/hsts-field.js';
import type { HstsConfig } from '../../config/model/listener-schema.js';
import { linesOf } from '../../http/grammar/fields.js';

/** Header names and values, alternating. The page of the panel sets its own content security policy. */
const FIELDS = [
  'X-Content-Type-Options',
  'nosniff',
  'Referrer-Policy',
  'no-referrer',
  'X-Frame-Options',
  'DENY',
  'Content-Security-Policy',
  "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'Cross-Origin-Opener-Policy',
  'same-origin',
  'Cross-Origin-Resource-Policy',
  'same-origin',
] as const;

/** SecurityHeaders adds the headers to responses. Handlers can override single headers. */
export class SecurityHeaders {
  /** The headers as lines with CRLF, for responses that are written to the socket directly. */
  readonly lines: string;
  private readonly fields: readonly string[];

  /** @param hsts settings of `Strict-Transport-Security`, which browsers ignore over plain HTTP. Undefined for none. */
  constructor(hsts: HstsConfig) {
    this.fields = [...FIELDS, ...hstsField(hsts)];
    this.lines = linesOf(this.fields);
  }

  /** Sets the headers of a response. Call `setOn` before the handler, so that the handler can override headers. */
  setOn(reply: FastifyReply): void {
    for (let index = 0; index + 1 < this.fields.length; index += 2) {
      reply.header(this.fields[index] ?? '', this.fields[index + 1]);
    }
  }
}
