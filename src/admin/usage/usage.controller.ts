/** Reads usage and remaining quota of an account or key, as JSON or CSV. Reading uses no quota. */
import { Readable } from 'node:stream';
import { Controller, Headers, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { Problem } from '../../platform/problems/errors.js';
import { AccountStore, type Account } from '../../accounts/accounts.js';
import { ApiKeyStore } from '../../accounts/api-key-store.js';
import { NO_GRANT } from '../../quota/model/effective-limits.js';
import { CSV_CONTENT_TYPE, csvText } from '../../quota/usage/usage-csv.js';
import type { UsageForecast } from '../../quota/usage-forecast.js';
import { UsageReader, type UsageReport, type UsageSubject } from '../../quota/usage-reader.js';
import { ALL_GROUPS, dateOf, LARGEST_USAGE_PAGE, type UsageQuery } from '../../quota/usage/usage-query.js';
import { checkWithinGrant, GrantedScopes } from '../access/portal-scopes.js';
import { Caller, type Principal } from '../access/principal.js';
import { setNextLink } from '../request/list.js';
import { Operation } from '../openapi/operation-decorator.js';
import { usageQuerySchema, usageSchema, type UsageQueryFields } from './usage.resource.js';

@Controller()
export class UsageController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly keys: ApiKeyStore,
    private readonly usage: UsageReader,
  ) {}

  // Cast, because the handler can also return a CSV stream, which the schema does not describe.
  @Operation('getUsage', usageSchema as z.ZodType)
  async read(
    @Param('id') accountId: string,
    @Query({ schema: usageQuerySchema }) fields: UsageQueryFields,
    @Headers('accept') accept: string | undefined,
    @Caller() caller: Principal,
    @GrantedScopes() granted: readonly string[] | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<(UsageReport & { forecasts?: readonly UsageForecast[] }) | Readable> {
    const account = await this.accounts.get(accountId);
    const subject = await this.subjectOf(account, fields.api_key_id, caller);
    const isCsv = fields.format === 'csv' || (fields.format === undefined && prefersCsv(accept));
    const groups = isCsv ? ALL_GROUPS.filter((group) => group !== 'month').join() : undefined;
    const { forecast, ...parameters } = fields;
    const parsed = this.usage.parseQuery({ ...parameters, group_by: fields.group_by ?? groups }, account);
    const query = parsed && { ...parsed, ofShadow: fields.shadow === 'true', granted };
    if (isCsv && query !== undefined) return this.csv(subject, query, reply);
    const report = await this.usage.readWithRows(subject, query);
    if ('next_cursor' in report && query !== undefined) {
      const days = { from: dateOf(query.from), to: dateOf(query.to) };
      setNextLink(reply, { ...fields, ...days }, report.next_cursor);
    }
    if (forecast !== 'true') return report;
    return { ...report, forecasts: await this.usage.readForecasts(subject, report, account.createdAt) };
  }

  /**
   * Returns the account or key whose usage is read. Rejects with `resource_not_found` for a key of another account, and
   * with `forbidden` for a key outside the scopes of a portal session.
   */
  private async subjectOf(account: Account, keyId: string | undefined, caller: Principal): Promise<UsageSubject> {
    const { id: accountId, plan, timeZone, billingDay, grant: accountGrant } = account;
    const key = keyId === undefined ? undefined : await this.keys.get(keyId);
    if (key !== undefined && key.accountId !== accountId) {
      throw new Problem('resource_not_found', { detail: 'Not found. The account has no API key with this id.' });
    }
    if (key !== undefined) checkWithinGrant(caller, key.scopes);
    const limitChanges = { accountGrant, keyLimits: key?.limits ?? null, keyGrant: key?.grant ?? NO_GRANT };
    return { accountId, keyId, plan, timeZone, billingDay, limitChanges };
  }

  /**
   * Streams all rows as CSV. If the first page fails, the client gets an error response. A later failure closes the
   * connection, so that a partial file never looks complete.
   */
  private async csv(subject: UsageSubject, query: UsageQuery, reply: FastifyReply): Promise<Readable> {
    const text = csvText(query.groups, this.usage.rows.readAllPages(subject, { ...query, limit: LARGEST_USAGE_PAGE }));
    const first = await text.next();
    const name = `usage_${subject.accountId}_${dateOf(query.from)}_${dateOf(query.to)}.csv`;
    void reply.header('Content-Type', CSV_CONTENT_TYPE).header('Content-Disposition', `attachment; filename="${name}"`);
    return Readable.from(joined(first.value ?? '', text));
  }
}

async function* joined(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield first;
  yield* rest;
}

/** Reports whether `Accept` names CSV but not JSON, as `curl -H 'Accept: text/csv'` does. */
function prefersCsv(accept = ''): boolean {
  return /\btext\/csv\b/i.test(accept) && !/\bapplication\/json\b/i.test(accept);
}
