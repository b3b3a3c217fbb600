/**
 * Parses JSON bodies of at most 100 KB. Replaces the parser of Fastify, whose errors do not say where the mistake is.
 */
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { RequestError } from './errors.js';

export const BODY_LIMIT_BYTES = 100 * 1024;

const CHARSET = /;\s*charset\s*=\s*"?([^\s";]+)/i;

/** Installs the parser. Other content types than JSON are refused. */
export function useJsonBodies(fastify: FastifyInstance): void {
  // The parser rejects the key `__proto__`. An empty body is allowed, because a DELETE may have a Content-Type but no
  // body.
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

/** Returns a message with the position of the mistake. */
function describe(body: string): string {
  try {
    JSON.parse(body);
    return 'The request body must not have a key named __proto__ or constructor.prototype.';
  } catch (error) {
    const position = /at position \d+( \(line \d+ column \d+\))?/.exec(error instanceof Error ? error.message : '');
    return `The request body is not valid JSON${position === null ? '' : `: look ${position[0]}`}.`;
  }
}
