/**
 * Reads and uses single-use links, such as invitations and password resets. The link's token is in the body, so logs
 * and Referer never contain the token. Reading a link does not use up the link.
 */
import { Body, Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LinkUse } from '../../members/sign-in/link-use.js';
import { Sessions } from '../../members/sessions.js';
import { SignInAttempts } from '../../members/sign-in/attempts.js';
import { Site } from '../access/site.js';
import { Operation } from '../openapi/operation-decorator.js';
import { browserOf } from './browser.js';
import { countFailedTries } from './link-attempts.js';
import { SignInResponses } from './sign-in-responses.js';
import {
  linkResource,
  linkSchema,
  readLinkSchema,
  signInSchema,
  takeLinkSchema,
  type LinkResource,
  type SignInResource,
  type TakeLink,
} from './sign-in.resource.js';

@Controller()
export class LinksController {
  constructor(
    private readonly links: LinkUse,
    private readonly sessions: Sessions,
    private readonly attempts: SignInAttempts,
    private readonly site: Site,
    private readonly responses: SignInResponses,
  ) {}

  @Operation('readLink', linkSchema)
  async read(
    @Body({ schema: readLinkSchema }) { token }: { token: string },
    @Req() request: FastifyRequest,
  ): Promise<LinkResource> {
    return countFailedTries(this.attempts, request.ip, async () => linkResource(await this.links.describeLink(token)));
  }

  @Operation('takeLink', signInSchema)
  async take(
    @Body({ schema: takeLinkSchema }) body: TakeLink,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SignInResource> {
    return countFailedTries(this.attempts, request.ip, async () => {
      const browser = browserOf(request, this.site);
      const liveSession = browser.session === undefined ? undefined : await this.sessions.findSession(browser.session);
      const result = await this.links.useLink(body, browser, liveSession);
      return result.state === 'portal'
        ? this.responses.ofPortal(result, reply)
        : this.responses.ofMember(result, reply, 'link');
    });
  }
}
