/**
 * Handles failing webhook endpoints. Warns the account after one day, and disables the endpoint after five days, or at
 * once after a 410. Each warning and each disabling happens only once, even if several processes detect the failures.
 * The deliveries of a disabled endpoint wait.
 */
import { sql, type Kysely, type Transaction } from 'kysely';
import { recordChange, type ChangeContext } from '../../records/audit-log.js';
import { kindOf } from '../../stores/database/database-kind.js';
import { textList } from '../../stores/database/json-rows.js';
import type { Tables } from '../../stores/database/schema.js';
import type { WebhookEndpointTable } from '../../stores/database/tables/webhook-tables.js';
import { deactivateLane } from '../../outbox/lane-rows.js';
import type { WebhookEndpointState } from '../../outbox/own-events.js';
import { addEvents } from '../../outbox/outbox.js';
import { mailDisabled } from './disabled-mail.js';

/** Time since the first failure without a success after which the account is warned. */
const WARN_AFTER_MS = 24 * 3_600_000;
/** Time since the first failure without a success after which the endpoint is disabled. */
const DISABLE_AFTER_MS = 5 * 24 * 3_600_000;
/** Minimum number of failed attempts before an endpoint is disabled, except after a 410. */
const FEWEST_FAILURES = 5;

/** Actor of the audit entries. */
const SYSTEM: ChangeContext = { actor: 'system', ip: '', requestId: '' };

/** A decision about a failing endpoint. */
export interface EndpointVerdict {
  readonly endpointId: string;
  readonly accountId: string;
  readonly what: 'disabled' | 'warned';
  readonly reason: 'gone' | 'failing';
}

/** Decisions, and the IDs of endpoints with new deliveries. Log and signal these after the commit. */
export interface Verdicts {
  readonly verdicts: readonly EndpointVerdict[];
  readonly endpointIds: readonly string[];
}

/**
 * Disables endpoints whose receiver responded with 410 (Gone).
 * @param goneUrls endpoint IDs with the URL that responded. An endpoint that has a different URL by now stays enabled.
 */
export async function disableGone(
  db: Kysely<Tables>,
  goneUrls: readonly (readonly [endpointId: string, url: string])[],
  nowMs: number,
  hasMail: boolean,
): Promise<Verdicts> {
  const all = await Promise.all(goneUrls.map(([id, url]) => disable(db, id, { goneUrl: url }, nowMs, hasMail)));
  return mergeVerdicts(all);
}

/**
 * Checks endpoints with failed attempts. Warns their accounts or disables the endpoints, depending on how long they
 * have failed.
 */
export async function checkFailing(
  db: Kysely<Tables>,
  endpointIds: readonly string[],
  nowMs: number,
  hasMail: boolean,
): Promise<Verdicts> {
  if (endpointIds.length === 0) return { verdicts: [], endpointIds: [] };
  const rows = await db
    .selectFrom('webhook_endpoint')
    .selectAll()
    .where('id', 'in', textList(kindOf(db), endpointIds))
    .where('status', '=', 'enabled')
    .where('failing_since', '<=', nowMs - WARN_AFTER_MS)
    .execute();
  const all: Verdicts[] = [];
  for (const row of rows) {
    const mustDisable = (row.failing_since ?? nowMs) <= nowMs - DISABLE_AFTER_MS && row.failures >= FEWEST_FAILURES;
    all.push(await (mustDisable ? disable(db, row.id, {}, nowMs, hasMail) : warn(db, row, nowMs)));
  }
  return mergeVerdicts(all);
}

/**
 * Disables an endpoint. Only the process whose update takes effect writes audit entry, event and emails.
 * @param why contains `goneUrl` after a 410; empty for an endpoint that has failed for too long.
 */
async function disable(
  db: Kysely<Tables>,
  id: string,
  why: { readonly goneUrl?: string },
  nowMs: number,
  hasMail: boolean,
): Promise<Verdicts> {
  const { goneUrl } = why;
  const reason = goneUrl === undefined ? 'failing' : 'gone';
  return await db.transaction().execute(async (trx) => {
    let update = trx
      .updateTable('webhook_endpoint')
      .set({ status: 'disabled', disabled_reason: reason, status_changed_at: nowMs, updated_at: nowMs })
      .set('version', sql`version + 1`)
      .where('id', '=', id)
      .where('status', '=', 'enabled')
      .where('deleted_at', 'is', null);
    // Don't disable the endpoint if an attempt succeeded, or its URL was changed, meanwhile.
    if (goneUrl === undefined) update = update.where('failing_since', '<=', nowMs - DISABLE_AFTER_MS);
    else update = update.where('url', '=', goneUrl);
    const row = await update.returningAll().executeTakeFirst();
    if (row === undefined) return { verdicts: [], endpointIds: [] };
    await deactivateLane(trx, id);
    await recordDisabled(trx, row, nowMs);
    if (hasMail) await mailDisabled(trx, row, reason, nowMs);
    const verdict = { endpointId: id, accountId: row.account_id, what: 'disabled', reason } as const;
    return { verdicts: [verdict], endpointIds: await emitDisabled(trx, row, nowMs, `disabled:${id}:${row.version}`) };
  });
}

/** Adds an event for the account. The dedupe key prevents a second warning about the same failures. */
async function warn(db: Kysely<Tables>, row: WebhookEndpointTable, nowMs: number): Promise<Verdicts> {
  const verdict = { endpointId: row.id, accountId: row.account_id, what: 'warned', reason: 'failing' } as const;
  const { events, endpointIds } = await addEvents(
    db,
    [eventOf(row, 'webhook_endpoint.failing', `failing:${row.id}:${row.failing_since}`)],
    nowMs,
  );
  return { verdicts: events.size > 0 ? [verdict] : [], endpointIds };
}

/** Adds the event that an endpoint was disabled. Returns the IDs of endpoints with new deliveries. */
async function emitDisabled(
  trx: Transaction<Tables>,
  row: WebhookEndpointTable,
  nowMs: number,
  name: string,
): Promise<readonly string[]> {
  return (await addEvents(trx, [eventOf(row, 'webhook_endpoint.disabled', name)], nowMs)).endpointIds;
}

/** Creates an event about an endpoint. The event is delivered to the other endpoints of the account. */
function eventOf(
  row: WebhookEndpointTable,
  type: 'webhook_endpoint.disabled' | 'webhook_endpoint.failing',
  name: string,
) {
  const data: WebhookEndpointState = {
    webhook_endpoint: {
      id: row.id,
      url: withoutQuery(row.url),
      description: row.description,
      status: row.status,
      disabled_reason: row.disabled_reason,
      failing_since: row.failing_since === null ? null : new Date(row.failing_since).toISOString(),
    },
  };
  return { type, accountId: row.account_id, data, dedupeKey: `webhook_endpoint.${name}`, exceptEndpointId: row.id };
}

/** Removes the query from a URL, because queries of receivers can contain tokens. */
function withoutQuery(url: string): string {
  return url.replace(/\?.*$/s, '?…');
}

function recordDisabled(trx: Transaction<Tables>, row: WebhookEndpointTable, nowMs: number): Promise<void> {
  const target = { accountId: row.account_id, targetType: 'webhook_endpoint', targetId: row.id } as const;
  const change = {
    action: 'webhook_endpoint.disabled',
    targetVersion: row.version,
    before: { status: 'enabled' },
    after: { status: 'disabled', disabled_reason: row.disabled_reason },
  } as const;
  return recordChange(trx, SYSTEM, { ...target, ...change }, nowMs);
}

function mergeVerdicts(all: readonly Verdicts[]): Verdicts {
  return {
    verdicts: all.flatMap(({ verdicts }) => verdicts),
    endpointIds: [...new Set(all.flatMap(({ endpointIds }) => endpointIds))],
  };
}
