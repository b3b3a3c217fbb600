/**
 * Deletes stored admin responses and queued notices that mention a deleted account. Their texts have no index, so all
 * of them are searched. Each batch is read and deleted outside of a transaction, so that other requests can proceed.
 */
import { sql, type Kysely } from 'kysely';
import type { DatabaseHandle } from '../stores/database/connect.js';
import { jsonRows, textList, type JsonColumn } from '../stores/database/json-rows.js';
import type { Tables } from '../stores/database/schema.js';

/** Number of texts per statement. A response can have tens of kilobytes. */
const TEXTS_AT_ONCE = 200;
/** Matches the strings of a JSON text, with their quotes. */
const JSON_STRINGS = /"(?:[^"\\]|\\.)*"/g;
/**
 * Columns that identify a stored response. With the owner, a response that replaces an expired one is not deleted in
 * its place.
 */
const RESPONSE_ID: readonly (JsonColumn & { readonly name: 'api_key_id' | 'key_hash' | 'owner' })[] = [
  { name: 'api_key_id', type: 'text' },
  { name: 'key_hash', type: 'text' },
  { name: 'owner', type: 'text' },
];

/** Reports whether a text of JSON mentions the account. */
type Mentions = (text: string) => boolean;

/**
 * Deletes the stored admin responses and queued notices that contain the account's ID, or one of the texts as a whole
 * JSON string. Finds everything that was stored before the call.
 * @param texts name of the account and email addresses of its members
 */
export async function deleteMentions(
  database: Pick<DatabaseHandle, 'db' | 'kind'>,
  accountId: string,
  texts: readonly string[],
): Promise<void> {
  const strings = new Set(texts.map((text) => JSON.stringify(text)));
  const mentions: Mentions = (text) =>
    text.includes(accountId) || (text.match(JSON_STRINGS) ?? []).some((string) => strings.has(string));
  await deleteResponses(database, mentions);
  await deleteNotices(database, mentions);
}

/**
 * Deletes the responses to callers of the admin API. Responses of API keys are deleted with their keys. There can be
 * millions of them, so they are not even read: all IDs of keys are between `key_` and `key_z`.
 */
async function deleteResponses(database: Pick<DatabaseHandle, 'db' | 'kind'>, mentions: Mentions): Promise<void> {
  await deleteResponsesBetween(database, '', 'key_', mentions);
  await deleteResponsesBetween(database, 'key_z', undefined, mentions);
}

/** Searches the responses of a range of callers in the order of the primary key. */
async function deleteResponsesBetween(
  { db, kind }: Pick<DatabaseHandle, 'db' | 'kind'>,
  from: string,
  to: string | undefined,
  mentions: Mentions,
): Promise<void> {
  for (let after = sql`(${from}, '')`; ;) {
    let query = db
      .selectFrom('idempotent_request')
      .select(['api_key_id', 'key_hash', 'owner', 'fields', 'body'])
      .where(sql<boolean>`(api_key_id, key_hash) > ${after}`)
      .orderBy('api_key_id')
      .orderBy('key_hash')
      .limit(TEXTS_AT_ONCE);
    if (to !== undefined) query = query.where('api_key_id', '<', to);
    const rows = await query.execute();
    const found = rows.filter(({ fields, body }) =>
      mentions(`${fields ?? ''}\n${Buffer.from(body ?? '', 'base64').toString()}`),
    );
    if (found.length > 0) {
      const names = sql.join(RESPONSE_ID.map(({ name }) => sql.ref(name)));
      const ids = found.map((row) => RESPONSE_ID.map(({ name }) => row[name]));
      const listed = sql`select ${names} from ${jsonRows(kind, RESPONSE_ID, ids, 'listed')}`;
      await sql`delete from idempotent_request where (${names}) in (${listed})`.execute(db);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < TEXTS_AT_ONCE) return;
    after = sql`(${last.api_key_id}, ${last.key_hash})`;
  }
}

/** Searches the queued mail that informs its reader. Mail with a link is deleted with the link. */
async function deleteNotices({ db, kind }: Pick<DatabaseHandle, 'db' | 'kind'>, mentions: Mentions): Promise<void> {
  for (let after = ''; ;) {
    const rows = await noticesAfter(db, after);
    const found = rows.filter(({ content }) => mentions(content)).map(({ id }) => id);
    if (found.length > 0) await db.deleteFrom('mail').where('id', 'in', textList(kind, found)).execute();
    const last = rows.at(-1);
    if (last === undefined || rows.length < TEXTS_AT_ONCE) return;
    after = last.id;
  }
}

function noticesAfter(db: Kysely<Tables>, id: string) {
  const notices = db.selectFrom('mail').select(['id', 'content']).where('link_id', 'is', null).where('id', '>', id);
  return notices.orderBy('id').limit(TEXTS_AT_ONCE).execute();
}
