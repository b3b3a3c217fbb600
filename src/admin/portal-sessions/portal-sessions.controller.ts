/**
 * Creates portal links and ends portal sessions, for operators. With a portal link, a company opens the panel to one of
 * its customers.
 */
import { Body, Controller, Param } from '@nestjs/common';
import { z } from 'zod';
import type { ChangeContext } from '../../records/audit-log.js';
import { createPortalSessionSchema, PortalLinks, type CreatePortalSession } from '../../members/links/portal-links.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { Site } from '../access/site.js';
import { Operation } from '../openapi/operation-decorator.js';
import { idField, timeField } from '../openapi/fields.js';
import { ChangedBy } from '../request/change-context.js';

const portalSessionSchema = z
  .object({
    id: idField('inv'),
    url: z.string().max(2_048).meta({ description: "URL to open in the user's browser, once, before `expires_at`." }),
    expires_at: timeField,
  })
  .meta({ id: 'PortalSession' });

@Controller()
export class PortalSessionsController {
  constructor(
    private readonly portal: PortalLinks,
    private readonly site: Site,
  ) {}

  @Operation('createPortalSession', portalSessionSchema)
  async create(
    @Body({ schema: createPortalSessionSchema }) body: CreatePortalSession,
    @ChangedBy() context: ChangeContext,
  ): Promise<z.output<typeof portalSessionSchema>> {
    const { id, token, expiresAt } = await this.portal.create(body, context);
    return { id, url: this.site.linkUrl(token), expires_at: formatWithOffset(expiresAt, 'UTC') };
  }
}

@Controller()
export class AccountPortalSessionsController {
  constructor(private readonly portal: PortalLinks) {}

  @Operation('endPortalSessions')
  async endAll(@Param('id') accountId: string, @ChangedBy() context: ChangeContext): Promise<void> {
    await this.portal.endAll(accountId, context);
  }
}
