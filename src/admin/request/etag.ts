/**
 * Creates and compares the entity tags of versioned resources, `"<version>.<digest>"` (RFC 9110 section 8.8.3). The
 * digest covers the whole representation, including fields that change without a new version, such as the last use of a
 * key. `If-Match` compares only versions, so a key can be edited while requests use the key.
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
 * Sets the `ETag` of a response and returns the resource. If `If-None-Match` contains the tag or is `*`, sets status
 * 304 and returns undefined instead.
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

/** Splits a list of entity tags, keeping the quotes and `W/`. */
export function entityTagsOf(list: string): string[] {
  return list.match(/(?:W\/)?"[^"]*"/g) ?? [];
}

/**
 * Reports whether a list contains a tag or is `*`. Uses the weak comparison (RFC 9110 section 13.1.2), which ignores
 * `W/`.
 */
function isNamedIn(list: string, etag: string): boolean {
  return list === '*' || entityTagsOf(list).some((tag) => tag.replace(/^W\//, '') === etag);
}
