/**
 * Signs in with a passkey, and starts confirmations with a passkey. Passkeys need neither an email address nor a second
 * factor.
 */
import { Body, Controller, Req, Res } from '@nestjs/common';
import type { AuthenticationResponseJSON, PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SessionMember } from '../../members/sessions.js';
import { Passkeys } from '../../members/sign-in/passkeys.js';
import { SignInAttempts } from '../../members/sign-in/attempts.js';
import { SignInMethods } from '../../members/sign-in-methods.js';
import { SignIn } from '../../members/sign-in/sign-in.js';
import { Problem } from '../../platform/problems/errors.js';
import { Site } from '../access/site.js';
import { Myself } from '../me/signed-in-member.js';
import { passkeyRequestSchema, signInWithPasskeySchema, type ShownPasskey } from '../me/passkey.resource.js';
import { Operation } from '../openapi/operation-decorator.js';
import { browserOf } from './browser.js';
import { SignInResponses } from './sign-in-responses.js';
import { signInSchema, type SignInResource } from './sign-in.resource.js';

@Controller()
export class PasskeySignInController {
  constructor(
    private readonly passkeys: Passkeys,
    private readonly signIn: SignIn,
    private readonly attempts: SignInAttempts,
    private readonly site: Site,
    private readonly responses: SignInResponses,
    private readonly signInMethods: SignInMethods,
  ) {}

  @Operation('beginPasskeySignIn', passkeyRequestSchema)
  async begin(@Res({ passthrough: true }) reply: FastifyReply): Promise<PublicKeyCredentialRequestOptionsJSON> {
    this.signInMethods.checkOffered('passkeys');
    const { options, step } = await this.passkeys.beginSignIn();
    reply.header('Set-Cookie', this.site.setCookieValue('step', step.token));
    return options;
  }

  @Operation('signInWithPasskey', signInSchema)
  async finish(
    @Body({ schema: signInWithPasskeySchema }) { response }: { response: ShownPasskey },
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SignInResource> {
    this.signInMethods.checkOffered('passkeys');
    const browser = browserOf(request, this.site);
    const attempt = await this.attempts.beginUnnamed(request.ip);
    reply.header('Set-Cookie', this.site.noCookie('step'));
    try {
      const step = this.site.readCookie(request.headers.cookie, 'step');
      const { memberId } = await this.passkeys.authenticate(step, 'sign_in', toAuthenticationResponse(response));
      const signedIn = await this.signIn.startSession(memberId, 'passkey', browser);
      await attempt.uncount();
      return await this.responses.ofMember({ state: 'signed_in', ...signedIn }, reply);
    } catch (error) {
      if (error instanceof Problem && error.code === 'invalid_credentials') {
        this.signIn.recordFailedSignIn(null, 'passkey', browser);
      } else {
        await attempt.uncount();
      }
      throw error;
    }
  }
}

@Controller()
export class PasskeyConfirmationController {
  constructor(
    private readonly passkeys: Passkeys,
    private readonly signInMethods: SignInMethods,
    private readonly site: Site,
  ) {}

  @Operation('beginPasskeyConfirmation', passkeyRequestSchema)
  async begin(
    @Myself() { id }: SessionMember,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PublicKeyCredentialRequestOptionsJSON> {
    this.signInMethods.checkOffered('passkeys');
    const { options, step } = await this.passkeys.beginConfirmation(id);
    reply.header('Set-Cookie', this.site.setCookieValue('step', step.token));
    return options;
  }
}

/**
 * Converts a passkey response for the WebAuthn library. Omits extension results, and a `userHandle` that the browser
 * sent as null.
 */
export function toAuthenticationResponse({ id, rawId, type, response }: ShownPasskey): AuthenticationResponseJSON {
  const { userHandle, ...signed } = response;
  const named = userHandle === null || userHandle === undefined ? {} : { userHandle };
  return { id, rawId, type, clientExtensionResults: {}, response: { ...signed, ...named } };
}
