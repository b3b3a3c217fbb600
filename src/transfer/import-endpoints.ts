/**
 * Imports webhook endpoints, which are matched by their IDs. Their secrets are imported in encrypted form, so both
 * installations need the same `TRAILGATE_SECRETS_KEY`. An existing endpoint stays unchanged.
 */
import { addLane } from '../outbox/lane-rows.js';
import { insertRows, textList } from '../stores/database/json-rows.js';
import type { WebhookEndpointTable, WebhookSecretTable } from '../stores/database/tables/webhook-tables.js';
import { auditedEndpoint, changeableFields } from '../webhooks/endpoints/endpoint-rows.js';
import type { WebhookSecrets } from '../webhooks/signing/secret-store.js';
import { AccountRows, textsOf } from './import-accounts.js';
import { LineError, parseLine, type ImportBatch, type ImportLine } from './import-batch.js';
import { endpointLine } from './import-fields.js';

/**
 * Imports the lines of type `webhook_endpoint`, and sets the outcome of each line. Rejects with the database's error.
 * @param secrets checks that this installation can decrypt the secrets
 */
export async function importEndpoints(
  batch: ImportBatch,
  lines: readonly ImportLine[],
  secrets: WebhookSecrets,
): Promise<void> {
  if (lines.length === 0) return;
  const { trx, kind, nowMs } = batch;
  const accounts = await AccountRows.read(batch, textsOf(lines, 'account_id'), []);
  const ids = textList(kind, textsOf(lines, 'id'));
  const existing = await trx.selectFrom('webhook_endpoint').select('id').where('id', 'in', ids).execute();
  const known = new Set(existing.map(({ id }) => id));
  for (const { index, fields } of lines) {
    await batch.settleAsync(index, async () => {
      const line = parseLine(endpointLine, fields);
      if (known.has(line.id)) {
        // Endpoints are never updated. The call only throws if `on_conflict` is `fail`.
        batch.shouldUpdateExisting(line.id);
        return 'skipped';
      }
      const account = accounts.ownerOf(line);
      const rows = line.signing_secrets.map((secret): WebhookSecretTable => ({ ...secret, endpoint_id: line.id }));
      const reason = secrets.whyUnreadable(rows);
      if (reason !== undefined) throw new LineError(`signing_secrets: ${reason}`);
      const taken = await trx
        .selectFrom('webhook_secret')
        .select('endpoint_id')
        .where(({ eb, or }) =>
          or([
            eb(
              'id',
              'in',
              textList(
                kind,
                rows.map(({ id }) => id),
              ),
            ),
            eb(
              'fingerprint',
              'in',
              textList(
                kind,
                rows.map(({ fingerprint }) => fingerprint),
              ),
            ),
          ]),
        )
        .executeTakeFirst();
      if (taken !== undefined) throw new LineError(`signing_secrets: ${taken.endpoint_id} has this secret`);
      const row: WebhookEndpointTable = {
        id: line.id,
        account_id: account.id,
        url: line.url,
        description: line.description,
        event_types: JSON.stringify(line.event_types),
        retry_schedule: line.retry_schedule === null ? null : JSON.stringify(line.retry_schedule),
        ordered: line.ordered ? 1 : 0,
        rate_per_second: line.rate_per_second,
        concurrency: line.concurrency,
        timeout_ms: line.timeout_ms,
        status: line.status,
        disabled_reason: line.disabled_reason,
        status_changed_at: nowMs,
        url_set_at: nowMs,
        failing_since: null,
        failures: 0,
        last_success_at: null,
        version: 1,
        created_at: line.created_at ?? nowMs,
        updated_at: nowMs,
        deleted_at: null,
      };
      await trx.insertInto('webhook_endpoint').values(row).execute();
      await addLane(trx, row.id);
      await insertRows(trx, kind, 'webhook_secret', rows);
      known.add(row.id);
      const target = { accountId: row.account_id, targetType: 'webhook_endpoint', targetId: row.id } as const;
      const after = auditedEndpoint(changeableFields(row));
      batch.changes.push({ ...target, action: 'webhook_endpoint.created', targetVersion: 1, before: null, after });
      return 'imported';
    });
  }
}
