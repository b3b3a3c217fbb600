/** Signs in with a password, and lists the available sign-in methods. */
import { Body, Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MemberStore } from '../../members/members.js';
import { SignInMethods } from '../../members/sign-in-methods.js';
import { SignIn } from '../../members/sign-in/sign-in.js';
import { Site } from '../access/site.js';
import { Operation } from '../openapi/operation-decorator.js';
import { ADMIN_DEPENDENCIES, type AdminDependencies } from '../request/admin-dependencies.js';
import { browserOf } from './browser.js';
import { SignInResponses } from './sign-in-responses.js';
import {
  signInSchema,
  signInMethodsSchema,
  signInWithPasswordSchema,
  type SignInResource,
  type SignInMethodsResource,
  type SignInWithPassword,
} from './sign-in.resource.js';

@Controller()
export class SignInController {
  constructor(
    private readonly signIn: SignIn,
    private readonly members: MemberStore,
    private readonly signInMethods: SignInMethods,
    private readonly site: Site,
    private readonly responses: SignInResponses,
    @Inject(ADMIN_DEPENDENCIES) private readonly deps: AdminDependencies,
  ) {}

  @Operation('getSignInWays', signInMethodsSchema)
  async readSignInMethods(): Promise<SignInMethodsResource> {
    const firstOwner = !(await this.members.hasOperator());
    const { signIn, mail } = this.deps.settings();
    return {
      password: signIn.passwords,
      passkey: signIn.passkeys,
      providers: Object.entries(signIn.providers).map(([id, { label }]) => ({ id, label })),
      mail: mail !== undefined,
      first_owner: firstOwner,
    };
  }

  @Operation('signInWithPassword', signInSchema)
  async signInWithPassword(
    @Body({ schema: signInWithPasswordSchema }) body: SignInWithPassword,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SignInResource> {
    this.signInMethods.checkOffered('passwords');
    const result = await this.signIn.withPassword(body.email, body.password, browserOf(request, this.site));
    return this.responses.ofMember(result, reply);
  }
}
