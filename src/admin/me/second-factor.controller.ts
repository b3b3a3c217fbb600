/** The second factor of who is signed in: an authenticator app and its recovery codes. */
import { Body, Controller, Delete, Get, HttpCode, Post } from '@nestjs/common';
import type { z } from 'zod';
import type { ChangeContext } from '../../records/audit-log.js';
import type { SessionMember } from '../../members/sessions.js';
import { SecondFactors } from '../../members/sign-in/second-factors.js';
import { Documented } from '../openapi/documented.js';
import { ChangedBy } from '../request/change-context.js';
import {
  recoveryCodesSchema,
  secondFactorStateSchema,
  totpCodeSchema,
  totpSetupSchema,
} from './second-factor.resource.js';
import { Myself } from './signed-in-member.js';

@Controller('admin/v1/me')
export class MySecondFactorController {
  constructor(private readonly factors: SecondFactors) {}

  @Get('second-factor')
  @Documented({
    id: 'getMySecondFactor',
    summary: 'Say whether an authenticator app is set up, and how many recovery codes are left',
    response: secondFactorStateSchema,
  })
  async state(@Myself() { id }: SessionMember): Promise<z.output<typeof secondFactorStateSchema>> {
    const [totp, left] = await Promise.all([this.factors.isNeeded(id), this.factors.codesLeft(id)]);
    return { offered: this.factors.isOffered, totp, recovery_codes_left: left };
  }

  @Post('totp')
  @HttpCode(200)
  @Documented({
    id: 'beginTotp',
    summary: 'Begin to set up an authenticator app; it counts once a code of it was confirmed',
    response: totpSetupSchema,
    problems: ['conflict'],
  })
  async begin(@Myself() { id }: SessionMember): Promise<z.output<typeof totpSetupSchema>> {
    return await this.factors.begin(id);
  }

  @Post('totp/confirm')
  @HttpCode(200)
  @Documented({
    id: 'confirmTotp',
    summary: 'End the set-up of an authenticator app with a code of it; the response shows recovery codes, once',
    response: recoveryCodesSchema,
    problems: ['conflict'],
  })
  async confirm(
    @Body({ schema: totpCodeSchema }) { code }: { code: string },
    @Myself() { id }: SessionMember,
    @ChangedBy() context: ChangeContext,
  ): Promise<z.output<typeof recoveryCodesSchema>> {
    return { recovery_codes: [...(await this.factors.confirm(id, code, context))] };
  }

  @Delete('totp')
  @HttpCode(204)
  @Documented({
    id: 'deleteTotp',
    summary: 'Remove the authenticator app with its recovery codes; repeating it changes nothing',
    response: null,
    status: 204,
  })
  async remove(@Myself() { id }: SessionMember, @ChangedBy() context: ChangeContext): Promise<void> {
    await this.factors.remove(id, context);
  }

  @Post('recovery-codes')
  @HttpCode(200)
  @Documented({
    id: 'createRecoveryCodes',
    summary: 'Put new recovery codes in the place of the old ones; the response shows them, once',
    response: recoveryCodesSchema,
    problems: ['conflict'],
  })
  async newCodes(
    @Myself() { id }: SessionMember,
    @ChangedBy() context: ChangeContext,
  ): Promise<z.output<typeof recoveryCodesSchema>> {
    return { recovery_codes: [...(await this.factors.replaceCodes(id, context))] };
  }
}
