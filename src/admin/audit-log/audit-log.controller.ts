/**
 * Lists the entries of the audit log, newest first, for operators and for owners and admins of an account. The API
 * cannot change or delete entries.
 */
import { Controller, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { plainText } from '../../records/plain-text.js';
import { AuditLog, TARGET_TYPES, type AuditEntry } from '../../records/audit-log.js';
import { inQuery, ResourceOfAccount } from '../access/requested-resource.js';
import { listBody, listSchema, pageQuerySchema, type ListBody } from '../request/list.js';
import { encode } from '../openapi/encode.js';
import { idField, timeField } from '../openapi/fields.js';
import { Operation } from '../openapi/operation-decorator.js';

const auditQuerySchema = pageQuerySchema.extend({
  account_id: plainText(100)
    .optional()
    .meta({ description: 'Only changes of this account. Only operators can omit it.' }),
});

type AuditQuery = z.output<typeof auditQuerySchema>;

const fields = z.record(z.string().max(100), z.unknown()).nullable();

const auditEntrySchema = z
  .object({
    id: idField('aud'),
    account_id: idField('acc').nullable(),
    actor: z.string().max(100).meta({
      description: '`operator`, `system`, `portal:` and the id of a session, or the id of a member or token.',
    }),
    actor_label: z.string().max(320).nullable().meta({ description: 'Name of the actor at that time.' }),
    action: z.string().max(100).meta({ example: 'api_key.rotated' }),
    target: z.object({
      type: z.enum(TARGET_TYPES),
      id: z.string().max(100),
      name: z.string().max(2_048).nullable().meta({ description: 'Current name; null without one.' }),
    }),
    before: fields.meta({ description: 'Changed fields with their previous values; null for a new target.' }),
    after: fields.meta({ description: 'The same fields with their new values.' }),
    ip: z.string().max(45),
    request_id: z.string().max(128),
    created_at: timeField,
  })
  .meta({ id: 'AuditEntry' });

const auditListSchema = listSchema('AuditEntryList', auditEntrySchema);

type AuditEntryResource = z.output<typeof auditEntrySchema>;

@Controller()
@ResourceOfAccount('account', inQuery('account_id'))
export class AuditLogController {
  constructor(private readonly auditLog: AuditLog) {}

  @Operation('listAuditLog', auditListSchema)
  async list(
    @Query({ schema: auditQuerySchema }) query: AuditQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBody<AuditEntryResource>> {
    const { account_id: accountId, cursor, limit } = query;
    const page = await this.auditLog.list({ accountId, cursor, limit });
    return listBody(page, auditEntryResource, query, reply);
  }
}

function auditEntryResource(entry: AuditEntry): AuditEntryResource {
  const target = { type: entry.targetType, id: entry.targetId, name: entry.targetName };
  return encode(auditEntrySchema, { ...entry, target }, entry.timeZone);
}
