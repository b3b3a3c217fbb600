/**
 * Signs in at an identity provider. A sign-in starts with a POST, which the cross-site guard checks. When the provider
 * has redirected the browser back, the controller redirects to the panel, with an error code if the sign-in failed.
 */
import { Body, Controller, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { Providers } from '../../members/providers/providers.js';
import { Problem } from '../../platform/problems/errors.js';
import { Site } from '../access/site.js';
import { Operation } from '../openapi/operation-decorator.js';
import { browserOf, setSessionCookies } from './browser.js';
import { beginSchema, failurePage, ProviderSignIns, type BeginProviderSignIn } from './provider-sign-ins.js';

const startedSchema = z
  .object({ url: z.url().max(10_000).meta({ description: 'Where to redirect the browser.' }) })
  .meta({ id: 'ProviderSignIn' });

@Controller()
export class ProviderSignInController {
  constructor(
    private readonly providers: Providers,
    private readonly journeys: ProviderSignIns,
    private readonly site: Site,
  ) {}

  @Operation('beginProviderSignIn', startedSchema)
  async begin(
    @Param('provider') provider: string,
    @Body({ schema: beginSchema }) body: BeginProviderSignIn,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.output<typeof startedSchema>> {
    const journey = await this.journeys.begin(this.providers.issuerOf(provider), body, browserOf(request, this.site));
    const { url, step } = await this.providers.beginSignIn(provider, journey);
    reply.header('Set-Cookie', this.site.setCookieValue('step', step.token));
    return { url };
  }

  @Operation('finishProviderSignIn')
  async finish(
    @Param('provider') provider: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    // Throw a problem if the provider is not configured.
    this.providers.issuerOf(provider);
    reply.header('Set-Cookie', this.site.noCookie('step'));
    let failureUrl = (code: string): string => failurePage('sign_in', '/', code);
    try {
      const step = await this.providers.consumeStep(this.site.readCookie(request.headers.cookie, 'step'));
      const { purpose, returnTo } = step.data;
      failureUrl = (code) => failurePage(purpose, returnTo, code);
      const { search } = new URL(request.url, this.site.origin);
      const arrival = await this.providers.verifyCallback(provider, step, search);
      const signedIn = await this.journeys.end(arrival, browserOf(request, this.site));
      if (signedIn !== null) setSessionCookies(reply, this.site, signedIn);
      await reply.redirect(arrival.returnTo, 303);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      await reply.redirect(failureUrl(error.code), 303);
    }
  }
}
