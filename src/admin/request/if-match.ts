/** `If-Match` (RFC 9110 section 13.1.1): the version that a change was made on. Optional for programs. */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { ExpectedVersions } from '../../accounts/versions.js';
import { Problem } from '../../problems/errors.js';
import { entityTagsOf } from './etag.js';

/** `"7.k9Xw…"` as it was given out, or `"7"` of the field `version`. */
const VERSION = /^"(\d{1,15})(?:\.[\w-]*)?"$/;

/** The parameter of a handler that changes something with a version. Undefined: any version, as `*` says too. */
export const IfMatch = createParamDecorator((_: unknown, context: ExecutionContext): ExpectedVersions =>
  expectedVersions(context.switchToHttp().getRequest<FastifyRequest>().headers['if-match']),
);

/** Throws `bad_request` for what is no list of strong entity tags: a change on a wrong guess would be lost. */
export function expectedVersions(field: string | undefined): ExpectedVersions {
  if (field === undefined || field.trim() === '*') return undefined;
  const tags = entityTagsOf(field);
  if (tags === undefined) throw malformed('If-Match must be an ETag in its quotes, such as "7", or *.');
  if (tags.some((tag) => tag.startsWith('W/'))) throw malformed('If-Match must be a strong ETag: leave W/ out.');
  // A tag that we never gave out is the version of nothing.
  return tags.map((tag) => Number(VERSION.exec(tag)?.[1] ?? 0));
}

function malformed(detail: string): Problem {
  return new Problem('bad_request', { detail });
}
