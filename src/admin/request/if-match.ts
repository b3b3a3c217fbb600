/**
 * Parses `If-Match` (RFC 9110 section 13.1.1), which names the versions that a change may overwrite. Without the
 * header, a change may overwrite any version.
 */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { ExpectedVersions } from '../../records/versions.js';
import { Problem } from '../../platform/problems/errors.js';
import { entityTagsOf } from './etag.js';
import { IF_MATCH, LONGEST } from '../openapi/field-patterns.js';

const WELL_FORMED = new RegExp(IF_MATCH);

/** Matches `"7.k9Xw…"` from an `ETag`, and `"7"` from the field `version`. */
const VERSION = /^"(\d{1,15})(?:\.[\w-]*)?"$/;

/**
 * Injects the expected versions into a handler. Undefined, which allows any version, without the header and for `*`.
 */
export const IfMatch = createParamDecorator((_: unknown, context: ExecutionContext): ExpectedVersions =>
  expectedVersions(context.switchToHttp().getRequest<FastifyRequest>().headers['if-match']),
);

/**
 * Returns the versions that the header names. Returns undefined, which allows any version, without the header and for
 * `*`.
 * @throws Problem `bad_request` if the header is not a list of strong entity tags. Ignoring the header could overwrite
 * a change.
 */
export function expectedVersions(field: string | undefined): ExpectedVersions {
  if (field === undefined || field === '*') return undefined;
  if (field.startsWith('W/')) throw malformed('If-Match must be a strong ETag, without W/.');
  if (field.length > LONGEST.tags || !WELL_FORMED.test(field)) {
    throw malformed('If-Match must be `*` or one to ten quoted ETags, such as "7".');
  }
  // Other tags become version 0, which no resource has.
  return entityTagsOf(field).map((tag) => Number(VERSION.exec(tag)?.[1] ?? 0));
}

function malformed(detail: string): Problem {
  return new Problem('bad_request', { detail });
}
