/** Completes a sign-in by password or link with the second factor. */
import { Body, Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SecondFactorSignIn } from '../../members/sign-in/second-factor-sign-in.js';
import { Problem } from '../../platform/problems/errors.js';
import { Site } from '../access/site.js';
import { Operation } from '../openapi/operation-decorator.js';
import { browserOf } from './browser.js';
import { secondFactorSchema, type SecondFactorBody } from '../me/second-factor.resource.js';
import { SignInResponses } from './sign-in-responses.js';
import { signInSchema, type SignInResource } from './sign-in.resource.js';

@Controller()
export class SecondFactorController {
  constructor(
    private readonly signIn: SecondFactorSignIn,
    private readonly site: Site,
    private readonly responses: SignInResponses,
  ) {}

  @Operation('signInWithSecondFactor', signInSchema)
  async finish(
    @Body({ schema: secondFactorSchema }) body: SecondFactorBody,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SignInResource> {
    const step = this.site.readCookie(request.headers.cookie, 'step');
    const { code, recovery_code: recoveryCode = '' } = body;
    const factor = code === undefined ? { recoveryCode } : { code };
    try {
      const signedIn = await this.signIn.finish(step, factor, browserOf(request, this.site));
      reply.header('Set-Cookie', this.site.noCookie('step'));
      return await this.responses.ofMember({ state: 'signed_in', ...signedIn }, reply);
    } catch (error) {
      if (error instanceof Problem && error.code === 'sign_in_ended') {
        reply.header('Set-Cookie', this.site.noCookie('step'));
      }
      throw error;
    }
  }
}
