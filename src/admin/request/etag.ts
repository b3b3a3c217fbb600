/**
 * Entity tags (RFC 9110 section 8.8.3) of versioned resources: `"<version>.<digest>"`. The digest covers the whole
 * representation, including fields such as a key's time of last use, which do not change the version. `If-Match`
 * compares only versions, so a key can be edited while requests use it.
 */
import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { Problem } from '../../platform/problems/errors.js';
import { IF_NONE_MATCH, LONGEST } from '../openapi/field-patterns.js';

const DIGEST_LENGTH = 12;
const WELL_FORMED = new RegExp(IF_NONE_MATCH);

/** Returns the entity tag of a resource. */
export function entityTagOf(resource: { readonly version: number }): string {
  const digest = createHash('sha256').update(JSON.stringify(resource)).digest('base64url').slice(0, DIGEST_LENGTH);
  return `"${resource.version}.${digest}"`;
}

/**
 * Sets the `ETag` of a response.
 * @returns the resource.
 */
export function withETag<T extends { readonly version: number }>(resource: T, reply: FastifyReply): T {
  reply.header('ETag', entityTagOf(resource));
  return resource;
}

/**
 * Sets the `ETag` of a response. Returns the resource, or sets status 304 and returns undefined if `If-None-Match` has
 * the same tag.
 * @throws Problem `bad_request` if `If-None-Match` is malformed
 */
export function unlessNotModified<T extends { readonly version: number }>(
  resource: T,
  reply: FastifyReply,
): T | undefined {
  const etag = entityTagOf(resource);
  reply.header('ETag', etag);
  const known = reply.request.headers['if-none-match'];
  if (known === undefined) return resource;
  if (known.length > LONGEST.tags || !WELL_FORMED.test(known)) {
    throw new Problem('bad_request', { detail: 'If-None-Match must be `*` or one to ten quoted ETags.' });
  }
  if (!isNamedIn(known, etag)) return resource;
  void reply.status(304);
  return undefined;
}

/** Splits a list of entity tags, keeping the quotes. */
export function entityTagsOf(list: string): string[] {
  return list.match(/(?:W\/)?"[^"]*"/g) ?? [];
}

/** Reports whether a list has a tag. Compares weakly (RFC 9110 section 13.1.2): `W/` makes no difference. */
function isNamedIn(list: string, etag: string): boolean {
  return list === '*' || entityTagsOf(list).some((tag) => tag.replace(/^W\//, '') === etag);
}
