/** `If-Match` (RFC 9110 section 13.1.1): the version that a change was made on. Optional for programs. */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { ExpectedVersions } from '../../records/versions.js';
import { Problem } from '../../platform/problems/errors.js';
import { entityTagsOf } from './etag.js';
import { IF_MATCH, LONGEST } from '../openapi/field-patterns.js';

const WELL_FORMED = new RegExp(IF_MATCH);

/** `"7.k9Xw…"` as it was given out, or `"7"` of the field `version`. */
const VERSION = /^"(\d{1,15})(?:\.[\w-]*)?"$/;

/** The parameter of a handler that changes something with a version. Undefined: any version, as `*` says too. */
export const IfMatch = createParamDecorator((_: unknown, context: ExecutionContext): ExpectedVersions =>
  expectedVersions(context.switchToHttp().getRequest<FastifyRequest>().headers['if-match']),
);

/** Throws `bad_request` for what is no list of strong entity tags: a change on a wrong guess would be lost. */
export function expectedVersions(field: string | undefined): ExpectedVersions {
  if (field === undefined || field === '*') return undefined;
  if (field.startsWith('W/')) throw malformed('If-Match must be a strong ETag: leave W/ out.');
  if (field.length > LONGEST.tags || !WELL_FORMED.test(field)) {
    throw malformed('If-Match must be one ETag or up to ten, in their quotes, such as "7", or *.');
  }
  // A tag that we never gave out is the version of nothing.
  return entityTagsOf(field).map((tag) => Number(VERSION.exec(tag)?.[1] ?? 0));
}

function malformed(detail: string): Problem {
  return new Problem('bad_request', { detail });
}
