/**
 * Lists, registers, renames and removes the passkeys of the signed-in member. The last sign-in method of a member
 * cannot be removed.
 */
import { Body, Controller, Param, Req, Res } from '@nestjs/common';
import type { PublicKeyCredentialCreationOptionsJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { ChangeContext } from '../../records/audit-log.js';
import type { SessionMember } from '../../members/sessions.js';
import { Passkeys } from '../../members/sign-in/passkeys.js';
import { SignInMethods } from '../../members/sign-in-methods.js';
import { RecentConfirmation } from '../access/recent-confirmation.js';
import { Caller, memberOfCaller, type Principal } from '../access/principal.js';
import { Site } from '../access/site.js';
import { Operation } from '../openapi/operation-decorator.js';
import { ChangedBy } from '../request/change-context.js';
import { storeResponseBody } from '../request/idempotency.js';
import {
  addPasskeySchema,
  passkeyCreationSchema,
  passkeyListSchema,
  passkeyResource,
  passkeySchema,
  renamePasskeySchema,
  type AddPasskey,
} from './passkey.resource.js';
import { Myself } from './signed-in-member.js';

type PasskeyResource = z.output<typeof passkeySchema>;

@Controller()
export class MyPasskeysController {
  constructor(
    private readonly passkeys: Passkeys,
    private readonly signInMethods: SignInMethods,
    private readonly confirmed: RecentConfirmation,
    private readonly site: Site,
  ) {}

  @Operation('listMyPasskeys', passkeyListSchema)
  async list(@Myself() { id }: SessionMember): Promise<{ data: PasskeyResource[] }> {
    return { data: (await this.passkeys.list(id)).map(passkeyResource) };
  }

  @Operation('beginPasskey', passkeyCreationSchema)
  async begin(
    @Myself() member: SessionMember,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PublicKeyCredentialCreationOptionsJSON> {
    this.signInMethods.checkOffered('passkeys');
    await this.confirmed.checkFirstPasskey(memberOfCaller(caller));
    const { options, step } = await this.passkeys.beginRegistration(member);
    reply.header('Set-Cookie', this.site.setCookieValue('step', step.token));
    return options;
  }

  @Operation('addPasskey', passkeySchema)
  async add(
    @Body({ schema: addPasskeySchema }) { name, response }: AddPasskey,
    @Caller() caller: Principal,
    @ChangedBy() context: ChangeContext,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PasskeyResource> {
    this.signInMethods.checkOffered('passkeys');
    const owner = memberOfCaller(caller);
    await this.confirmed.checkFirstPasskey(owner);
    const step = this.site.readCookie(request.headers.cookie, 'step');
    reply.header('Set-Cookie', this.site.noCookie('step'));
    const recordingContext = storeResponseBody(context, passkeyResource);
    const { member, session } = owner;
    const made = await this.passkeys.register(
      member.id,
      session.id,
      step,
      response as RegistrationResponseJSON,
      name,
      recordingContext,
    );
    return passkeyResource(made);
  }

  @Operation('renamePasskey', passkeySchema)
  async rename(
    @Param('id') id: string,
    @Body({ schema: renamePasskeySchema }) { name }: { name: string },
    @Myself() member: SessionMember,
    @ChangedBy() context: ChangeContext,
  ): Promise<PasskeyResource> {
    return passkeyResource(await this.passkeys.rename(member.id, id, name, context));
  }

  @Operation('deletePasskey')
  async remove(
    @Param('id') id: string,
    @Myself() member: SessionMember,
    @ChangedBy() context: ChangeContext,
  ): Promise<void> {
    await this.passkeys.remove(member.id, id, context);
  }
}
