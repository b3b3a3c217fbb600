/** Confirms the signed-in member's identity before a sensitive change, and changes the member's password. */
import { Body, Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ChangeContext } from '../../records/audit-log.js';
import { passwordField } from '../../members/member-fields.js';
import { Sessions, type Session, type SessionMember } from '../../members/sessions.js';
import { PasswordChange } from '../../members/sign-in/password-change.js';
import { Passkeys } from '../../members/sign-in/passkeys.js';
import { SecondFactorSignIn } from '../../members/sign-in/second-factor-sign-in.js';
import { SignInMethods } from '../../members/sign-in-methods.js';
import { SignIn } from '../../members/sign-in/sign-in.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { Problem } from '../../platform/problems/errors.js';
import { CHALLENGE } from '../access/bearer.js';
import { CONFIRMED_MS } from '../access/recent-confirmation.js';
import { Caller, memberOfCaller, type Principal } from '../access/principal.js';
import { Site } from '../access/site.js';
import { Operation } from '../openapi/operation-decorator.js';
import { timeField } from '../openapi/fields.js';
import { ChangedBy } from '../request/change-context.js';
import { shownPasskeySchema } from '../me/passkey.resource.js';
import { toAuthenticationResponse } from './passkey-sign-in.controller.js';
import { browserOf } from './browser.js';

const passwordSchema = z.strictObject({ password: passwordField });
const confirmSchema = z
  .strictObject({
    password: passwordField.optional(),
    code: z.string().min(1, 'must not be empty').max(20).optional().meta({
      description: 'Code of the authenticator app. Required with a password if the member has an app.',
    }),
    passkey: shownPasskeySchema.optional(),
  })
  .refine(({ password, passkey }) => (password === undefined) !== (passkey === undefined), {
    error: 'must have either password or passkey',
  })
  .refine(({ password, code }) => code === undefined || password !== undefined, {
    path: ['code'],
    error: 'is only allowed with a password',
  })
  .meta({ id: 'Confirm' });
type Confirm = z.output<typeof confirmSchema>;
const changePasswordSchema = passwordSchema.meta({ id: 'ChangePassword' });
const confirmationSchema = z
  .object({ confirmed_until: timeField.meta({ description: 'Until then no change requires another confirmation.' }) })
  .meta({ id: 'Confirmation' });

type Confirmation = z.output<typeof confirmationSchema>;

@Controller()
export class ConfirmationsController {
  constructor(
    private readonly signIn: SignIn,
    private readonly secondFactor: SecondFactorSignIn,
    private readonly passkeys: Passkeys,
    private readonly sessions: Sessions,
    private readonly signInMethods: SignInMethods,
    private readonly site: Site,
  ) {}

  @Operation('confirm', confirmationSchema)
  async confirm(
    @Body({ schema: confirmSchema }) body: Confirm,
    @Caller() caller: Principal,
    @Req() request: FastifyRequest,
  ): Promise<Confirmation> {
    const { member, session } = memberOfCaller(caller);
    if (!(await this.isRight(member, session, body, request))) {
      throw new Problem('invalid_credentials', {
        detail: 'The confirmation failed.',
        headers: ['WWW-Authenticate', CHALLENGE],
      });
    }
    const confirmed = await this.sessions.recordConfirmation(session.id);
    if (confirmed === undefined) throw new Problem('session_ended', { headers: ['WWW-Authenticate', CHALLENGE] });
    const until = Math.min(confirmed.confirmedAt + CONFIRMED_MS, confirmed.endsAt);
    return { confirmed_until: formatWithOffset(until, 'UTC') };
  }

  /**
   * Reports whether the password (with a code if the member has an authenticator app) or the passkey is correct.
   * @throws Problem `validation_failed` if the code is missing, `forbidden` if the configuration disables the method,
   * `sign_in_ended`, `invalid_credentials`, `too_many_failed_attempts`, `sign_in_busy`
   */
  private async isRight(
    member: SessionMember,
    session: Session,
    { password, code, passkey }: Confirm,
    request: FastifyRequest,
  ): Promise<boolean> {
    if (password !== undefined) this.signInMethods.checkOffered('passwords');
    if (passkey !== undefined) this.signInMethods.checkOffered('passkeys');
    const browser = browserOf(request, this.site);
    if (password !== undefined) {
      const needsCode = (await this.signInMethods.findConfirmationMethods(member.id, session.method)).includes(
        'password_and_code',
      );
      if (needsCode && code === undefined) throw codeMissing();
      if (!(await this.signIn.confirmPassword(member, password, browser))) return false;
      return code === undefined || (await this.secondFactor.isRight(member.id, { code }, browser));
    }
    if (passkey === undefined) return false;
    const step = this.site.readCookie(request.headers.cookie, 'step');
    const { memberId } = await this.passkeys.authenticate(step, 'confirm', toAuthenticationResponse(passkey));
    return memberId === member.id;
  }
}

function codeMissing(): Problem {
  const errors = [{ pointer: '#/code', detail: 'must be given: you have an authenticator app' }];
  return new Problem('validation_failed', { detail: 'Some fields are not valid.', errors });
}

@Controller()
export class MyPasswordController {
  constructor(
    private readonly passwords: PasswordChange,
    private readonly signInMethods: SignInMethods,
    private readonly site: Site,
  ) {}

  @Operation('changePassword')
  async change(
    @Body({ schema: changePasswordSchema }) { password }: { password: string },
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    this.signInMethods.checkOffered('passwords');
    const { member, session } = memberOfCaller(caller);
    const created = await this.passwords.change(member.id, password, session, browserOf(request, this.site), context);
    reply.header('Set-Cookie', this.site.setCookieValue('session', created.token));
  }
}
