/**
 * Parses JSON bodies of at most 100 KB. Replaces Fastify's parser, whose errors do not contain the position of the
 * mistake.
 */
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { RequestError } from './errors.js';

export const BODY_LIMIT_BYTES = 100 * 1024;

const CHARSET = /;\s*charset\s*=\s*"?([^\s";]+)/i;

/** Installs the parser for `application/json`. Bodies of other content types get 415. */
export function useJsonBodies(fastify: FastifyInstance): void {
  // Fastify's parser rejects the keys `__proto__` and `constructor.prototype`. Allow an empty body, because a DELETE
  // may have a Content-Type without a body.
  const parseJson = fastify.getDefaultJsonParser('error', 'error');
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer', bodyLimit: BODY_LIMIT_BYTES },
    (request, bytes, done) => {
      const charset = CHARSET.exec(request.headers['content-type'] ?? '')?.[1];
      if (charset !== undefined && !/^(?:utf-?8|us-ascii)$/i.test(charset)) {
        return done(new RequestError('unsupported_media_type', 'Send the body in UTF-8.'), undefined);
      }
      if (!isUtf8(bytes)) return done(new RequestError('malformed_json', 'The request body is not UTF-8.'), undefined);
      const body = bytes.toString();
      if (body.trim() === '') return done(null, undefined);
      return parseJson(request, body, (_error, value) => {
        if (_error === null || _error === undefined) return done(null, value);
        return done(new RequestError('malformed_json', describe(body)), undefined);
      });
    },
  );
}

/** Returns the message for a body that the parser has rejected, with the position of the mistake if V8 reports one. */
function describe(body: string): string {
  try {
    JSON.parse(body);
    return 'The request body must not have a key named __proto__ or constructor.prototype.';
  } catch (error) {
    const position = /at position \d+( \(line \d+ column \d+\))?/.exec(error instanceof Error ? error.message : '');
    return `The request body is not valid JSON${position === null ? '' : `: look ${position[0]}`}.`;
  }
}
