/**
 * Emails the signed-in member a link that verifies their address. Rejects with `conflict` without a mail server, and if
 * the address is already verified.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import type { ChangeContext } from '../../records/audit-log.js';
import { AddressVerification } from '../../members/links/address-verification.js';
import type { SessionMember } from '../../members/sessions.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { Operation } from '../openapi/operation-decorator.js';
import { timeField } from '../openapi/fields.js';
import { ChangedBy } from '../request/change-context.js';
import { Myself } from './signed-in-member.js';

const sentSchema = z
  .object({ expires_at: timeField.meta({ description: 'When the link expires.' }) })
  .meta({ id: 'AddressVerification' });

@Controller()
export class AddressVerificationController {
  constructor(private readonly verification: AddressVerification) {}

  @Operation('requestAddressVerification', sentSchema)
  async request(
    @Myself() member: SessionMember,
    @ChangedBy() context: ChangeContext,
  ): Promise<z.output<typeof sentSchema>> {
    return { expires_at: formatWithOffset(await this.verification.request(member.id, context), 'UTC') };
  }
}
