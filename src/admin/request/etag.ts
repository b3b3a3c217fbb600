/**
 * Entity tags (RFC 9110 section 8.8.3) of resources that have a version: `"<version>.<digest>"`. The digest is of what
 * is shown, which holds more than people change: a key's last use. What a change was made on is the version alone, so
 * that a key in use can be edited.
 */
import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { Problem } from '../../platform/problems/errors.js';
import { IF_NONE_MATCH, LONGEST } from '../openapi/field-patterns.js';

const DIGEST_LENGTH = 12;
const WELL_FORMED = new RegExp(IF_NONE_MATCH);

/** The tag of a resource as it is shown. */
export function entityTagOf(resource: { readonly version: number }): string {
  const digest = createHash('sha256').update(JSON.stringify(resource)).digest('base64url').slice(0, DIGEST_LENGTH);
  return `"${resource.version}.${digest}"`;
}

/** Puts the tag on a response. @returns the resource. */
export function tagged<T extends { readonly version: number }>(resource: T, reply: FastifyReply): T {
  reply.header('ETag', entityTagOf(resource));
  return resource;
}

/** The resource with its tag, or 304 without it where the caller has it as it is (`If-None-Match`). */
export function unlessKnown<T extends { readonly version: number }>(resource: T, reply: FastifyReply): T | undefined {
  const etag = entityTagOf(resource);
  reply.header('ETag', etag);
  const known = reply.request.headers['if-none-match'];
  if (known === undefined) return resource;
  if (known.length > LONGEST.tags || !WELL_FORMED.test(known)) {
    throw new Problem('bad_request', { detail: 'If-None-Match must be one ETag or up to ten, in their quotes, or *.' });
  }
  if (!isNamedIn(known, etag)) return resource;
  void reply.status(304);
  return undefined;
}

/** The members of a list of entity tags, each with its quotes. */
export function entityTagsOf(list: string): string[] {
  return list.match(/(?:W\/)?"[^"]*"/g) ?? [];
}

/** By the weak comparison, as `If-None-Match` wants it. */
function isNamedIn(list: string, etag: string): boolean {
  return list === '*' || entityTagsOf(list).some((tag) => tag.replace(/^W\//, '') === etag);
}
