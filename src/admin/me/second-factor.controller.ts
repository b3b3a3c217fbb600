/** Manages the second factor of the signed-in member: an authenticator app and its recovery codes. */
import { Body, Controller } from '@nestjs/common';
import type { z } from 'zod';
import type { ChangeContext } from '../../records/audit-log.js';
import type { SessionMember } from '../../members/sessions.js';
import { SecondFactors } from '../../members/sign-in/second-factors.js';
import { Operation } from '../openapi/operation-decorator.js';
import { ChangedBy } from '../request/change-context.js';
import {
  recoveryCodesSchema,
  secondFactorStateSchema,
  totpCodeSchema,
  totpSetupSchema,
} from './second-factor.resource.js';
import { Myself } from './signed-in-member.js';

@Controller()
export class MySecondFactorController {
  constructor(private readonly factors: SecondFactors) {}

  @Operation('getMySecondFactor', secondFactorStateSchema)
  async state(@Myself() { id }: SessionMember): Promise<z.output<typeof secondFactorStateSchema>> {
    const [totp, left] = await Promise.all([this.factors.isNeeded(id), this.factors.codesLeft(id)]);
    return { offered: this.factors.isOffered, totp, recovery_codes_left: left };
  }

  @Operation('beginTotp', totpSetupSchema)
  async begin(@Myself() { id }: SessionMember): Promise<z.output<typeof totpSetupSchema>> {
    return await this.factors.beginSetup(id);
  }

  @Operation('confirmTotp', recoveryCodesSchema)
  async confirm(
    @Body({ schema: totpCodeSchema }) { code }: { code: string },
    @Myself() { id }: SessionMember,
    @ChangedBy() context: ChangeContext,
  ): Promise<z.output<typeof recoveryCodesSchema>> {
    return { recovery_codes: [...(await this.factors.completeSetup(id, code, context))] };
  }

  @Operation('deleteTotp')
  async remove(@Myself() { id }: SessionMember, @ChangedBy() context: ChangeContext): Promise<void> {
    await this.factors.removeApp(id, context);
  }

  @Operation('createRecoveryCodes', recoveryCodesSchema)
  async newCodes(
    @Myself() { id }: SessionMember,
    @ChangedBy() context: ChangeContext,
  ): Promise<z.output<typeof recoveryCodesSchema>> {
    return { recovery_codes: [...(await this.factors.replaceCodes(id, context))] };
  }
}
