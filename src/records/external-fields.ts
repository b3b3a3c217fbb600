/**
 * Schemas and queries of `external_id` and `metadata`, which link accounts and keys with the records of another system.
 */
import { sql, type RawBuilder, type SqlBool } from 'kysely';
import { z } from 'zod';
import { Problem } from '../platform/problems/errors.js';
import type { DatabaseKind } from '../stores/database/database-kind.js';
import { isUniqueViolation } from '../stores/database/database-errors.js';
import { isWellFormed, plainText } from './plain-text.js';

const MAX_ENTRIES = 50;
const LONGEST_NAME = 40;
const LONGEST_VALUE = 500;

/** Metadata holds the entries of `metadata`: values by name. */
export type Metadata = Readonly<Record<string, string>>;

const externalId = plainText(200).min(1, 'must not be empty, but may be null').nullable();

const metadataName = z
  .string()
  .min(1, 'must have names that are not empty')
  .max(LONGEST_NAME, `must have names of at most ${LONGEST_NAME} characters`)
  .regex(/^[^\u0000-\u001f\u007f-\u009f=[\]]*$/, 'must have names without =, [, ] and control characters');

const metadataValue = z
  .string('must be text')
  .max(LONGEST_VALUE, `must be at most ${LONGEST_VALUE} characters`)
  .refine((text) => isWellFormed(text) && !text.includes('\0'), 'must be valid Unicode without U+0000');

const metadata = z
  .record(metadataName, metadataValue)
  .refine((entries) => Object.keys(entries).length <= MAX_ENTRIES, `must have at most ${MAX_ENTRIES} entries`)
  .refine((entries) => Object.keys(entries).every(isWellFormed), 'must have names of valid Unicode')
  .meta({
    description:
      `At most ${MAX_ENTRIES} entries of text, for your own use: names of up to ${LONGEST_NAME} characters, values ` +
      `of up to ${LONGEST_VALUE}. A change replaces all entries.`,
    example: { crm: 'D-20481' },
    maxProperties: MAX_ENTRIES,
  });

/**
 * Returns the schemas of `external_id` and `metadata` for request bodies.
 * @param within scope in which the ID is unique, for the description
 */
export function externalFields(within: string) {
  return {
    external_id: externalId.meta({
      description: `ID in your own system, unique ${within}; null: none.`,
      example: 'D-20481',
    }),
    metadata,
  };
}

/** Schemas of `external_id` and `metadata` in responses. */
export const shownExternalFields = {
  external_id: z.string().max(200).nullable().meta({ description: 'ID in the system of the operator; null: none.' }),
  metadata: z.record(z.string().max(LONGEST_NAME), z.string().max(LONGEST_VALUE)),
};

/** Schemas of the query parameters that filter lists by `external_id` and `metadata`. */
export const externalQuery = {
  external_id: plainText(200).optional().meta({ description: 'Only the one with this `external_id`.' }),
  metadata: plainText(LONGEST_NAME + LONGEST_VALUE + 1)
    .regex(/^[^=]+=/, 'must be name=value')
    .optional()
    .meta({ description: 'Only those with this entry in their `metadata`, as `name=value`.', example: 'crm=D-20481' }),
};

/** ExternalQuery holds the filters of a list by `external_id` and `metadata`. */
export interface ExternalQuery {
  readonly external_id?: string | undefined;
  /** One metadata entry that must exist, as `name=value`. */
  readonly metadata?: string | undefined;
}

/** Returns the SQL conditions for the given filters. The queried table must have both columns. */
export function externalConditions(kind: DatabaseKind, query: ExternalQuery): RawBuilder<SqlBool>[] {
  const { external_id: id, metadata: entry } = query;
  const conditions: RawBuilder<SqlBool>[] = [];
  if (id !== undefined) conditions.push(sql`external_id = ${id}`);
  if (entry !== undefined) {
    const at = entry.indexOf('=');
    const [name, value] = [entry.slice(0, at), entry.slice(at + 1)];
    conditions.push(
      kind === 'sqlite'
        ? sql`exists (select 1 from json_each(metadata) as entry where entry.key = ${name} and entry.value = ${value})`
        : sql`cast(metadata as jsonb) ->> ${name} = ${value}`,
    );
  }
  return conditions;
}

/**
 * Returns the value of the `metadata` column, or null if there are no entries. Sorts the entries by name, so that equal
 * metadata has equal text.
 */
export function metadataJson(entries: Metadata): string | null {
  const names = Object.keys(entries).sort();
  return names.length === 0 ? null : JSON.stringify(Object.fromEntries(names.map((name) => [name, entries[name]])));
}

/** Parses the `metadata` column. Does not validate the entries. */
export function parseMetadata(json: string | null): Metadata {
  return json === null ? {} : (JSON.parse(json) as Metadata);
}

/**
 * Runs a statement that writes an `external_id`.
 * @param recordType type of the record, for the error message
 * @throws Problem `conflict` if another record has the ID
 */
export async function writeUnique<T>(statement: Promise<T>, recordType: string): Promise<T> {
  try {
    return await statement;
  } catch (cause) {
    if (!isUniqueViolation(cause)) throw cause;
    const detail = `Another ${recordType} has this external_id.`;
    throw new Problem('conflict', { detail, errors: [{ pointer: '#/external_id', detail: 'is taken' }], cause });
  }
}
