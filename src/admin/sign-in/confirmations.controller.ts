/** Showing once more who it is, before something that matters; and choosing a new password. */
import { Body, Controller, HttpCode, Post, Put, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ChangeContext } from '../../accounts/audit-log.js';
import { passwordField } from '../../members/member-fields.js';
import { Sessions } from '../../members/sessions.js';
import { PasswordChange } from '../../members/sign-in/password-change.js';
import { SignIn } from '../../members/sign-in/sign-in.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { Problem } from '../../problems/errors.js';
import { CHALLENGE } from '../access/bearer.js';
import { CONFIRMED_MS } from '../access/confirmed.js';
import { Caller, memberOfCaller, type Principal } from '../access/principal.js';
import { Site } from '../access/site.js';
import { Documented } from '../openapi/documented.js';
import { timeField } from '../openapi/fields.js';
import { ChangedBy } from '../request/change-context.js';
import { browserOf } from './browser.js';

const passwordSchema = z.strictObject({ password: passwordField });
const confirmSchema = passwordSchema.meta({ id: 'Confirm' });
const changePasswordSchema = passwordSchema.meta({ id: 'ChangePassword' });
const confirmationSchema = z
  .object({ confirmed_until: timeField.meta({ description: 'Until then nothing asks again.' }) })
  .meta({ id: 'Confirmation' });

type Confirmation = z.output<typeof confirmationSchema>;

@Controller('admin/v1/confirmations')
export class ConfirmationsController {
  constructor(
    private readonly signIn: SignIn,
    private readonly sessions: Sessions,
    private readonly site: Site,
  ) {}

  @Post()
  @HttpCode(200)
  @Documented({
    id: 'confirm',
    summary: 'Show once more who it is, with the password',
    response: confirmationSchema,
    problems: ['sign_in_busy', 'session_ended'],
  })
  async confirm(
    @Body({ schema: confirmSchema }) { password }: { password: string },
    @Caller() caller: Principal,
    @Req() request: FastifyRequest,
  ): Promise<Confirmation> {
    const { member, session } = memberOfCaller(caller);
    if (!(await this.signIn.confirmPassword(member, password, browserOf(request, this.site)))) {
      throw new Problem('invalid_credentials', {
        detail: 'This is not your password.',
        headers: ['WWW-Authenticate', CHALLENGE],
      });
    }
    const confirmed = await this.sessions.confirm(session.id);
    if (confirmed === undefined) throw new Problem('session_ended', { headers: ['WWW-Authenticate', CHALLENGE] });
    const until = Math.min(confirmed.confirmedAt + CONFIRMED_MS, confirmed.endsAt);
    return { confirmed_until: formatWithOffset(until, 'UTC') };
  }
}

@Controller('admin/v1/me/password')
export class MyPasswordController {
  constructor(
    private readonly passwords: PasswordChange,
    private readonly site: Site,
  ) {}

  @Put()
  @HttpCode(204)
  @Documented({
    id: 'changePassword',
    summary: 'Choose a new password; all sessions end, and this browser has a new one',
    response: null,
    status: 204,
    problems: ['sign_in_busy'],
  })
  async change(
    @Body({ schema: changePasswordSchema }) { password }: { password: string },
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    const { member, session } = memberOfCaller(caller);
    const begun = await this.passwords.change(
      member.id,
      password,
      session.method,
      browserOf(request, this.site),
      context,
    );
    reply.header('Set-Cookie', this.site.cookie('session', begun.token));
  }
}
