/** Requests a password reset. Always responds with 202, so it does not reveal whether a member exists. */
import { Body, Controller, Inject, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { MemberAdmin } from '../../members/member-admin.js';
import { OwnWays } from '../../members/ways.js';
import { SignInAttempts } from '../../members/sign-in/attempts.js';
import { Operation } from '../openapi/operation-decorator.js';
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
    // Failed and successful requests count: each can send an email that its recipient did not ask for.
    await this.attempts.beginUnnamed(request.ip);
    // A reset link must not bypass the identity provider.
    if (!this.own.offered().passwords) return {};
    // Not awaited, because the response time would reveal whether a member exists.
    this.admin.requestReset(email, changeContextOf(request)).catch((error: unknown) => {
      const fields = { event: 'password_reset_failed', err: error, request_id: request.id };
      this.deps.log.warn(fields, 'Creating a password reset link failed');
    });
    return {};
  }
}
