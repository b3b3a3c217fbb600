/**
 * Stores the authenticated caller of each request. The credentials guard sets the caller. Later guards and handlers
 * read the caller.
 */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { VisibleAccounts } from '../../accounts/account-list.js';
import type { AccountToken } from '../../members/account-tokens.js';
import type { PortalGrant, Session, SessionMember } from '../../members/sessions.js';

/** SignedInMember is a caller with the session of a member. */
export interface SignedInMember {
  readonly kind: 'member';
  readonly member: SessionMember;
  readonly session: Session;
  /** Value of the session cookie. */
  readonly cookie: string;
}

/** SignedIn is a caller with a session: a member, or the user of a portal link. */
export type SignedIn =
  | SignedInMember
  | { readonly kind: 'portal'; readonly portal: PortalGrant; readonly session: Session; readonly cookie: string };

/**
 * Principal is a caller of the admin API. `token` is an account token, `operator` the operator token, and `nobody` a
 * caller without authentication.
 */
export type Principal =
  | { readonly kind: 'nobody' }
  | { readonly kind: 'operator' }
  | { readonly kind: 'token'; readonly token: AccountToken }
  | SignedIn;

const NOBODY: Principal = { kind: 'nobody' };

const principals = new WeakMap<FastifyRequest, Principal>();

/** Sets the caller of a request. Only the credentials guard may call `setPrincipal`. */
export function setPrincipal(request: FastifyRequest, principal: Principal): void {
  principals.set(request, principal);
}

/** Returns the caller of a request. The kind is `nobody` if no guard has set a caller. */
export function principalOf(request: FastifyRequest): Principal {
  return principals.get(request) ?? NOBODY;
}

/**
 * Returns the caller as a member. Throws an `Error` for other callers, so call `memberOfCaller` only in operations for
 * members.
 */
export function memberOfCaller(principal: Principal): SignedInMember {
  if (principal.kind !== 'member') throw new Error(`a member was expected, not a caller of kind ${principal.kind}`);
  return principal;
}

/** Reports whether the caller is an operator, by the operator token or as a member with operator rights. */
export function isOperator(principal: Principal): boolean {
  return principal.kind === 'operator' || (principal.kind === 'member' && principal.member.isOperator);
}

/** Returns the filter for the accounts that the caller can see. Throws an `Error` for an unauthenticated caller. */
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
      throw new Error('the caller is not authenticated');
  }
}

/**
 * Returns the caller's ID in the audit log. The ID is `operator` for the operator token, and `nobody` without
 * authentication.
 */
export function actorOf(principal: Principal): string {
  switch (principal.kind) {
    case 'member':
      return principal.member.id;
    case 'portal':
      // Use the session ID, because labels need not be unique.
      return `portal:${principal.session.id}`;
    case 'token':
      return principal.token.id;
    case 'operator':
      return 'operator';
    case 'nobody':
      return 'nobody';
  }
}

/**
 * Returns the caller's display name for the audit log. Undefined for the operator token, without authentication, and
 * for a portal session without a label.
 */
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

/** Injects the caller into a handler parameter. */
export const Caller = createParamDecorator((_: unknown, context: ExecutionContext): Principal =>
  principalOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
