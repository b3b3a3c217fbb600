/**
 * Lists and unlinks the signed-in member's identities at identity providers. The last sign-in method of a member cannot
 * be unlinked.
 */
import { Controller, Param } from '@nestjs/common';
import { z } from 'zod';
import type { ChangeContext } from '../../records/audit-log.js';
import { Identities } from '../../members/providers/identities.js';
import { Providers } from '../../members/providers/providers.js';
import type { SessionMember } from '../../members/sessions.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { Operation } from '../openapi/operation-decorator.js';
import { idPattern, timeField } from '../openapi/fields.js';
import { ChangedBy } from '../request/change-context.js';
import { Myself } from './signed-in-member.js';

const identitySchema = z
  .object({
    id: z.string().regex(idPattern('idn')).max(30),
    issuer: z.string().max(2_000),
    provider: z.string().max(40).nullable().meta({
      description: 'Provider for this issuer, usable for sign-in and confirmation; null: no longer configured.',
    }),
    email: z.string().max(254).nullable().meta({ description: 'Last value from the provider.' }),
    created_at: timeField,
    last_used_at: timeField.nullable(),
  })
  .meta({ id: 'Identity' });
const identityListSchema = z.object({ data: z.array(identitySchema).max(1_000) }).meta({ id: 'IdentityList' });

@Controller()
export class MyIdentitiesController {
  constructor(
    private readonly identities: Identities,
    private readonly providers: Providers,
  ) {}

  @Operation('listMyIdentities', identityListSchema)
  async list(@Myself() { id }: SessionMember): Promise<z.output<typeof identityListSchema>> {
    const at = (ms: number): string => formatWithOffset(ms, 'UTC');
    const own = await this.identities.list(id);
    return {
      data: own.map(({ createdAt, lastUsedAt, ...identity }) => ({
        ...identity,
        provider: this.providers.named(identity.issuer),
        created_at: at(createdAt),
        last_used_at: lastUsedAt === null ? null : at(lastUsedAt),
      })),
    };
  }

  @Operation('deleteMyIdentity')
  async remove(
    @Param('id') id: string,
    @Myself() member: SessionMember,
    @ChangedBy() context: ChangeContext,
  ): Promise<void> {
    await this.identities.unlink(member.id, id, context);
  }
}
