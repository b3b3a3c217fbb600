/** Portal sessions: a company lets its customers into the panel from its own pages, and takes that back. */
import { Body, Controller, Delete, HttpCode, Param, Post } from '@nestjs/common';
import { z } from 'zod';
import type { ChangeContext } from '../../records/audit-log.js';
import { createPortalSessionSchema, PortalLinks, type CreatePortalSession } from '../../members/links/portal-links.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { Site } from '../access/site.js';
import { Documented } from '../openapi/documented.js';
import { idField, timeField } from '../openapi/fields.js';
import { ChangedBy } from '../request/change-context.js';

const portalSessionSchema = z
  .object({
    id: idField('inv'),
    url: z.string().max(2_048).meta({ description: 'To send the browser to, once, before `expires_at`.' }),
    expires_at: timeField,
  })
  .meta({ id: 'PortalSession' });

@Controller('admin/v1/portal-sessions')
export class PortalSessionsController {
  constructor(
    private readonly portal: PortalLinks,
    private readonly site: Site,
  ) {}

  @Post()
  @Documented({
    id: 'createPortalSession',
    summary: 'Make a link into the panel for somebody who is signed in elsewhere; a session of an hour comes of it',
    response: portalSessionSchema,
    status: 201,
    problems: ['resource_not_found'],
  })
  async create(
    @Body({ schema: createPortalSessionSchema }) body: CreatePortalSession,
    @ChangedBy() context: ChangeContext,
  ): Promise<z.output<typeof portalSessionSchema>> {
    const { id, token, expiresAt } = await this.portal.create(body, context);
    return { id, url: this.site.linkUrl(token), expires_at: formatWithOffset(expiresAt, 'UTC') };
  }
}

@Controller('admin/v1/accounts/:id/portal-sessions')
export class AccountPortalSessionsController {
  constructor(private readonly portal: PortalLinks) {}

  @Delete()
  @HttpCode(204)
  @Documented({
    id: 'endPortalSessions',
    summary: 'End all portal sessions of an account, and the links that were not used',
    response: null,
    status: 204,
    problems: ['resource_not_found'],
  })
  async endAll(@Param('id') accountId: string, @ChangedBy() context: ChangeContext): Promise<void> {
    await this.portal.endAll(accountId, context);
  }
}
