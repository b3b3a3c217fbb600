import { describe, expect, it } from '@jest/globals';
import { NotFoundException } from '@nestjs/common';
import { toRequestError } from './error.filter.js';
import { RequestError } from './errors.js';

const sqlite = (errcode: number) => Object.assign(new Error('secret detail'), { code: 'ERR_SQLITE_ERROR', errcode });
const fastify = (statusCode: number) => Object.assign(new Error('secret detail'), { statusCode });

describe('toRequestError', () => {
  it.each<[string, unknown, string, number]>([
    ['a refusal', new RequestError('email_taken', 'x'), 'email_taken', 409],
    ['an unknown path', new NotFoundException(), 'route_not_found', 404],
    ['a body that is too large', fastify(413), 'body_too_large', 413],
    ['a wrong media type', fastify(415), 'unsupported_media_type', 415],
    ['a path that does not decode', fastify(400), 'bad_request', 400],
    ['a locked SQLite file', sqlite(5), 'database_unavailable', 503],
    ['a stale SQLite snapshot', sqlite(517), 'database_unavailable', 503],
    ['a full disk', sqlite(13), 'database_unavailable', 503],
    ['a fault of ours', new TypeError('secret detail'), 'internal_error', 500],
    ['a wrong query of ours', sqlite(1), 'internal_error', 500],
    ['a thrown string', 'secret detail', 'internal_error', 500],
  ])('maps %s without internal details', (_, exception, code, status) => {
    const error = toRequestError(exception);
    expect([error.code, error.status]).toEqual([code, status]);
    expect(JSON.stringify(error.body())).not.toContain('secret');
  });
});
