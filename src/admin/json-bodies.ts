/**
 * Parses the JSON bodies of the admin listener, and rejects other content types. Fastify parses bodies before the
 * guards run, so an invalid body becomes a `RefusedBody`. The validation pipe throws the problem of that body later, so
 * callers without permission get the permission error first.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { toPlain } from '../platform/json/exact-json.js';
import { JsonError, readJson } from '../platform/json/read-json.js';
import { Problem } from '../platform/problems/errors.js';
import { RefusedBody } from '../platform/problems/refused-body.js';
import { problemOf } from './problem.filter.js';

const CHARSET = /;\s*charset\s*=\s*"?([^\s";]+)/i;
/** Accepted charsets. US-ASCII is a subset of UTF-8. */
const UTF8 = /^(?:utf-?8|us-ascii)$/i;

const CODING_REFUSED = new Problem('unsupported_media_type', {
  detail: 'Send the body without a Content-Encoding.',
  // Names the codings that the server accepts in requests (RFC 9110 section 12.5.3).
  headers: ['Accept-Encoding', 'identity'],
});
const CHARSET_REFUSED = new Problem('unsupported_media_type', {
  detail: 'Send the body in UTF-8 (RFC 8259 section 8.1), or omit the charset.',
});

/**
 * Replaces the body parsers of a server. An empty body becomes undefined for any content type, because some clients
 * send a content type with DELETE.
 * @param exactPath the only route whose numbers keep all digits. All other routes get JavaScript numbers.
 */
export function useJsonBodies(fastify: FastifyInstance, exactPath: string): void {
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined);
    const value = parseBody(request, body);
    const isExact = value instanceof RefusedBody || request.routeOptions.url === exactPath;
    done(null, isExact ? value : toPlain(value));
  });
  fastify.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body.length === 0 ? undefined : new RefusedBody(problemOf({ statusCode: 415 })));
  });
}

function parseBody({ headers }: FastifyRequest, body: Buffer): unknown {
  const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = headers;
  if (encoding.toLowerCase() !== 'identity') return new RefusedBody(CODING_REFUSED);
  const charset = CHARSET.exec(type)?.[1];
  if (charset !== undefined && !UTF8.test(charset)) return new RefusedBody(CHARSET_REFUSED);
  try {
    return readJson(body);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return new RefusedBody(new Problem('bad_request', { detail: `The body ${error.message}.`, cause: error }));
  }
}
