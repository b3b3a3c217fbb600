/** For who has forgotten the password: 202 whoever asks for whomever, and a mail where there is a member. */
import { Body, Controller, Inject, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { MemberAdmin } from '../../members/member-admin.js';
import { OwnWays } from '../../members/ways.js';
import { SignInAttempts } from '../../members/sign-in/attempts.js';
import { Operation } from '../openapi/documented.js';
import { ADMIN_DEPENDENCIES, type AdminDependencies } from '../request/admin-dependencies.js';
import { changeContextOf } from '../request/change-context.js';

const requestSchema = z
  .strictObject({ email: z.string().min(1, 'must not be empty').max(320) })
  .meta({ id: 'RequestPasswordReset' });

const acceptedSchema = z.object({}).meta({ id: 'Accepted' });

@Controller()
export class PasswordResetsController {
  constructor(
    private readonly admin: MemberAdmin,
    private readonly own: OwnWays,
    private readonly attempts: SignInAttempts,
    @Inject(ADMIN_DEPENDENCIES) private readonly deps: AdminDependencies,
  ) {}

  @Operation('requestPasswordReset', acceptedSchema)
  async request(
    @Body({ schema: requestSchema }) { email }: { email: string },
    @Req() request: FastifyRequest,
  ): Promise<Record<string, never>> {
    // Never refunded: each may be a mail to somebody who has not asked for it.
    await this.attempts.beginUnnamed(request.ip);
    // No link of theirs is a way around the provider.
    if (!this.own.offered().passwords) return {};
    // Nobody waits for it: it would take longer where there is a member.
    this.admin.requestReset(email, changeContextOf(request)).catch((error: unknown) => {
      const fields = { event: 'password_reset_failed', err: error, request_id: request.id };
      this.deps.log.warn(fields, 'A link for a new password was asked for and not made');
    });
    return {};
  }
}
