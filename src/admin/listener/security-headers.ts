/** Header fields that every response of the admin listener has, whoever writes it. */
import type { FastifyReply } from 'fastify';
import { hstsField } from '../../config/model/hsts-field.js';
import type { HstsConfig } from '../../config/model/listener-schema.js';
import { linesOf } from '../../http/grammar/fields.js';

/** What a browser must not do with a response; a page says in its own policy what it may load. */
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

/** SecurityHeaders puts the fields on responses; a handler may give one of them another value. */
export class SecurityHeaders {
  /** Each field as a line with its end, for what is written by hand. */
  readonly lines: string;
  private readonly fields: readonly string[];

  /** @param hsts where people come by HTTPS; browsers ignore it elsewhere. */
  constructor(hsts: HstsConfig) {
    this.fields = [...FIELDS, ...hstsField(hsts)];
    this.lines = linesOf(this.fields);
  }

  /** Sets the fields, before a handler runs. */
  setOn(reply: FastifyReply): void {
    for (let index = 0; index + 1 < this.fields.length; index += 2) {
      reply.header(this.fields[index] ?? '', this.fields[index + 1]);
    }
  }
}
