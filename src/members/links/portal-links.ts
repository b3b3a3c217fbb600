/**
 * Creates portal links, with which a company signs its own customers in to the panel without another sign-in. Anyone
 * who has an unused link gets its access, so a link works only once and for 15 minutes.
 */
import { z } from 'zod';
import { nameField } from '../../records/account-fields.js';
import { plainText } from '../../records/plain-text.js';
import { lockAccount } from '../../accounts/accounts.js';
import { recordChange, type ChangeContext } from '../../records/audit-log.js';
import { SCOPE_PATTERN } from '../../config/model/values.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import { checkCreator } from '../credentials.js';
import { createLink } from '../links.js';
import { ROLES } from '../permissions.js';

const LINK_MS = 15 * 60_000;

export const createPortalSessionSchema = z
  .strictObject({
    account_id: plainText(100),
    role: z.enum(ROLES).meta({ description: 'Role in the account.' }),
    scopes: z
      .array(z.string().max(200).regex(SCOPE_PATTERN, 'must be resource:verb, for example customers:read'))
      .min(1)
      .max(100)
      .optional()
      .meta({
        description: 'Limits the session to keys with these scopes, without events and webhooks; default: all.',
      }),
    return_url: z
      .url({ protocol: /^https?$/ })
      .max(2_048)
      .meta({ description: 'Where the panel links back to. Its origin must be in `admin.portal.returnOrigins`.' }),
    member_name: nameField.optional().meta({ description: 'Name of the user, for the page and the audit log.' }),
  })
  .meta({ id: 'CreatePortalSession' });

export type CreatePortalSession = z.output<typeof createPortalSessionSchema>;

/** PortalLinks creates portal links, and ends all portal sessions and links of an account. */
export class PortalLinks {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly returnOrigins: () => readonly string[],
  ) {}

  /**
   * Creates a portal link that works for 15 minutes.
   * @throws Problem `validation_failed` for a return URL of another origin, `resource_not_found` for the account,
   * `forbidden` if the caller lost their rights in the meantime
   */
  async create(
    input: CreatePortalSession,
    context: ChangeContext,
  ): Promise<{ readonly id: string; readonly token: string; readonly expiresAt: number }> {
    const { account_id: accountId, role, return_url: returnUrl } = input;
    // Accept only configured origins, to prevent open redirects.
    if (!this.returnOrigins().includes(new URL(returnUrl).origin)) {
      const errors = [{ pointer: '#/return_url', detail: 'must have an origin of admin.portal.returnOrigins' }];
      throw new Problem('validation_failed', { detail: 'Some fields are not valid.', errors });
    }
    const now = this.clock.now();
    const label = input.member_name ?? '';
    const data = { scopes: input.scopes ?? null, label, return_url: returnUrl };
    return this.database.db.transaction().execute(async (trx) => {
      await checkCreator(trx, this.database.kind, context, { type: 'portal_session', role }, accountId);
      await lockAccount(trx, this.database.kind, accountId);
      const link = { kind: 'portal', accountId, role, data, createdBy: context.actor, lastsMs: LINK_MS } as const;
      const { token, row } = await createLink(trx, link, now);
      const target = { accountId, targetType: 'portal_session', targetId: row.id } as const;
      const after = { role, label, scopes: data.scopes };
      await recordChange(trx, context, { ...target, action: 'portal_session.created', before: null, after }, now);
      return { id: row.id, token, expiresAt: row.expires_at };
    });
  }

  /**
   * Revokes all portal links of an account and ends its portal sessions. Rejects with `resource_not_found` for the
   * account.
   */
  async endAll(accountId: string, context: ChangeContext): Promise<void> {
    const now = this.clock.now();
    await this.database.db.transaction().execute(async (trx) => {
      await lockAccount(trx, this.database.kind, accountId);
      const links = trx.updateTable('link').set({ revoked_at: now }).where('kind', '=', 'portal');
      await links.where('account_id', '=', accountId).where('revoked_at', 'is', null).execute();
      const sessions = trx.deleteFrom('member_session').where('account_id', '=', accountId);
      const ended = Number((await sessions.where('member_id', 'is', null).executeTakeFirst()).numDeletedRows);
      const target = { accountId, targetType: 'portal_session', targetId: accountId } as const;
      const change = { action: 'portal_session.all_ended', before: { sessions: ended }, after: null } as const;
      await recordChange(trx, context, { ...target, ...change }, now);
    });
  }
}
