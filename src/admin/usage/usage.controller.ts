/** What an account, or one of its keys, has used and has left. Reading it counts nothing. */
import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { z } from 'zod';
import { Problem } from '../../errors.js';
import { AccountStore } from '../../keys/accounts.js';
import { ApiKeyStore } from '../../keys/api-key-store.js';
import { NO_GRANT } from '../../quotas/effective-limits.js';
import { UsageReader, type UsageReport } from '../../quotas/usage.js';
import { Documented } from '../openapi/documented.js';

const usageQuerySchema = z.strictObject({
  api_key_id: z.string().max(100).optional().meta({ description: 'A key of the account; adds its own windows.' }),
});

type UsageQuery = z.output<typeof usageQuerySchema>;

const usageSchema = z
  .object({
    account_id: z.string(),
    api_key_id: z.string().nullable(),
    plan: z.string(),
    windows: z.array(
      z.object({
        policy: z.enum(['key-minute', 'key-month', 'account-minute', 'account-month']),
        limit: z.int(),
        used: z.int(),
        remaining: z.int(),
        resets_at: z.iso.datetime({ offset: true }),
      }),
    ),
  })
  .meta({ id: 'Usage' });

@Controller('admin/v1/accounts/:id/usage')
export class UsageController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly keys: ApiKeyStore,
    @Inject(UsageReader) private readonly usage: Pick<UsageReader, 'read'>,
  ) {}

  @Get()
  @Documented({
    id: 'getUsage',
    summary: 'Read limits and usage of an account, or of one of its keys',
    response: usageSchema,
    problems: ['resource_not_found', 'quota_unavailable'],
  })
  async read(
    @Param('id') accountId: string,
    @Query({ schema: usageQuerySchema }) query: UsageQuery,
  ): Promise<UsageReport> {
    const { plan, timeZone, billingDay, grant: accountGrant } = await this.accounts.get(accountId);
    const keyId = query.api_key_id;
    const key = keyId === undefined ? undefined : await this.keys.get(keyId);
    if (key !== undefined && key.accountId !== accountId) {
      throw new Problem('resource_not_found', { detail: 'The account has no API key with this id.' });
    }
    const limitChanges = { accountGrant, keyLimits: key?.limits ?? null, keyGrant: key?.grant ?? NO_GRANT };
    return this.usage.read({ accountId, keyId, plan, timeZone, billingDay, limitChanges });
  }
}
