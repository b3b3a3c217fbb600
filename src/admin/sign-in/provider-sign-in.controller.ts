/** Signing in at an identity provider: there by a POST, which no foreign page can make, and back by its redirect. */
import { Body, Controller, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ChangeContext } from '../../accounts/audit-log.js';
import type { Browser } from '../../members/sign-in/sign-in.js';
import { ProviderSignIn } from '../../members/providers/provider-sign-in.js';
import { Providers } from '../../members/providers/providers.js';
import { Sessions } from '../../members/sessions.js';
import { Problem } from '../../problems/errors.js';
import { CHALLENGE } from '../access/bearer.js';
import { Site } from '../access/site.js';
import { Documented } from '../openapi/documented.js';
import { browserOf, giveSession } from './browser.js';

const beginSchema = z
  .strictObject({
    purpose: z.enum(['sign_in', 'link']).default('sign_in').meta({ description: '`link`: to who is signed in.' }),
    return_to: z.string().max(2_000).optional().meta({ description: 'A page of the panel to go on to.' }),
  })
  .meta({ id: 'BeginProviderSignIn' });
const beganSchema = z
  .object({ url: z.url().max(10_000).meta({ description: 'Where the browser goes now.' }) })
  .meta({ id: 'ProviderSignIn' });

@Controller('admin/v1/sign-in/providers/:provider')
export class ProviderSignInController {
  constructor(
    private readonly providers: Providers,
    private readonly signIn: ProviderSignIn,
    private readonly sessions: Sessions,
    private readonly site: Site,
  ) {}

  @Post()
  @HttpCode(200)
  @Documented({
    id: 'beginProviderSignIn',
    summary: 'Begin a sign-in at an identity provider',
    response: beganSchema,
    problems: ['cross_site_request', 'resource_not_found', 'identity_provider_unavailable'],
  })
  async begin(
    @Param('provider') provider: string,
    @Body({ schema: beginSchema }) body: z.output<typeof beginSchema>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.output<typeof beganSchema>> {
    const memberId = body.purpose === 'link' ? await this.memberIn(browserOf(request, this.site)) : null;
    if (body.purpose === 'link' && memberId === null) {
      throw new Problem('missing_credentials', { headers: ['WWW-Authenticate', CHALLENGE] });
    }
    const journey = { purpose: body.purpose, linkHash: null, returnTo: body.return_to };
    const { url, step } = await this.providers.begin(provider, { ...journey, memberId });
    reply.header('Set-Cookie', this.site.cookie('step', step.token));
    return { url };
  }

  @Get('callback')
  @Documented({
    id: 'finishProviderSignIn',
    summary: 'Take back who comes from an identity provider; leads on to a page of the panel',
    response: null,
    status: 303,
    problems: ['resource_not_found'],
  })
  async finish(
    @Param('provider') provider: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    // Nobody's provider sends anybody here.
    if (!this.providers.list().some(({ id }) => id === provider)) throw new Problem('resource_not_found');
    const browser = browserOf(request, this.site);
    reply.header('Set-Cookie', this.site.noCookie('step'));
    try {
      const step = this.site.read(request.headers.cookie, 'step');
      const query = request.url.slice(request.url.indexOf('?'));
      const arrival = await this.providers.finish(provider, step, query.startsWith('?') ? query : '');
      if (arrival.purpose === 'link') {
        // Whoever was signed in when it began has to be so now: nobody links their identity to somebody else.
        if ((await this.memberIn(browser)) !== arrival.memberId) throw new Problem('session_ended');
        await this.signIn.link(arrival, contextOf(arrival.memberId ?? '', request));
      } else {
        giveSession(reply, this.site, await this.signIn.finish(arrival, browser));
      }
      await reply.redirect(arrival.returnTo, 303);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      await reply.redirect(`/sign-in?problem=${error.code}`, 303);
    }
  }

  /** Who is signed in in this browser; both ways are open to anybody, so no guard has asked. */
  private async memberIn({ session }: Browser): Promise<string | null> {
    const live = session === undefined ? undefined : await this.sessions.find(session);
    return live?.member?.id ?? null;
  }
}

function contextOf(memberId: string, request: FastifyRequest): ChangeContext {
  return { actor: memberId, ip: request.ip, requestId: request.id };
}
