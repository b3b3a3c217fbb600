/** Who asks: filled in by the guard of credentials, read by everything behind it. */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { VisibleAccounts } from '../../accounts/account-list.js';
import type { AccountToken } from '../../members/account-tokens.js';
import type { PortalGrant, Session, SessionMember } from '../../members/sessions.js';

/** A member whose browser is signed in. */
export interface SignedInMember {
  readonly kind: 'member';
  readonly member: SessionMember;
  readonly session: Session;
  readonly cookie: string;
}

/** A caller whose browser is signed in. */
export type SignedIn =
  | SignedInMember
  | { readonly kind: 'portal'; readonly portal: PortalGrant; readonly session: Session; readonly cookie: string };

/** A caller of the admin API. */
export type Principal =
  | { readonly kind: 'nobody' }
  | { readonly kind: 'operator' }
  | { readonly kind: 'token'; readonly token: AccountToken }
  | SignedIn;

const NOBODY: Principal = { kind: 'nobody' };

const principals = new WeakMap<FastifyRequest, Principal>();

/** Says who asks. */
export function setPrincipal(request: FastifyRequest, principal: Principal): void {
  principals.set(request, principal);
}

/** Who asks; nobody, where no guard has said so. */
export function principalOf(request: FastifyRequest): Principal {
  return principals.get(request) ?? NOBODY;
}

/** The member who calls, where the table of operations lets nobody else in. */
export function memberOfCaller(principal: Principal): SignedInMember {
  if (principal.kind !== 'member') throw new Error(`${principal.kind} was let in where only members are`);
  return principal;
}

/** Whether the caller may everything: with the operators' token, or as a member who is an operator. */
export function isOperator(principal: Principal): boolean {
  return principal.kind === 'operator' || (principal.kind === 'member' && principal.member.isOperator);
}

/** Which accounts the caller may know of. */
export function visibleTo(principal: Principal): VisibleAccounts {
  if (isOperator(principal)) return 'all';
  switch (principal.kind) {
    case 'member':
      return { memberId: principal.member.id };
    case 'portal':
      return { accountId: principal.portal.accountId };
    case 'token':
      return { accountId: principal.token.accountId };
    default:
      throw new Error('nobody sees any account');
  }
}

/** What the audit log calls the caller. */
export function actorOf(principal: Principal): string {
  switch (principal.kind) {
    case 'member':
      return principal.member.id;
    case 'portal':
      // Names need not be unique, and may be those of somebody else.
      return `portal:${principal.session.id}`;
    case 'token':
      return principal.token.id;
    case 'operator':
      return 'operator';
    case 'nobody':
      return 'nobody';
  }
}

/** What people know the caller by, beside what the audit log calls it; undefined where that says it already. */
export function labelOf(principal: Principal): string | undefined {
  switch (principal.kind) {
    case 'member':
      return principal.member.name || principal.member.email;
    case 'token':
      return principal.token.name;
    case 'portal':
      return principal.portal.label || undefined;
    default:
      return undefined;
  }
}

/** The parameter of a handler that asks who calls. */
export const Caller = createParamDecorator((_: unknown, context: ExecutionContext): Principal =>
  principalOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
