/**
 * Emails a password reset link to a member. Known and unknown addresses get the same response, which does not reveal
 * who is a member.
 */
import { Body, Controller, Inject, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { MemberAdmin } from '../../members/member-admin.js';
import { SignInMethods } from '../../members/sign-in-methods.js';
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
    private readonly signInMethods: SignInMethods,
    private readonly attempts: SignInAttempts,
    @Inject(ADMIN_DEPENDENCIES) private readonly deps: AdminDependencies,
  ) {}

  @Operation('requestPasswordReset', acceptedSchema)
  async request(
    @Body({ schema: requestSchema }) { email }: { email: string },
    @Req() request: FastifyRequest,
  ): Promise<Record<string, never>> {
    // Count all requests, because each can send an email that its recipient did not ask for.
    await this.attempts.beginUnnamed(request.ip);
    // Send no link if sign-in by password is off. A reset link must not bypass the identity provider.
    if (!this.signInMethods.offered().passwords) return {};
    // Don't await the reset, because the response time would reveal whether a member exists.
    this.admin.requestReset(email, changeContextOf(request)).catch((error: unknown) => {
      const fields = { event: 'password_reset_failed', err: error, request_id: request.id };
      this.deps.log.warn(fields, 'Creating a password reset link failed');
    });
    return {};
  }
}
