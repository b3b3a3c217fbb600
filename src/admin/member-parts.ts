/** Lists the Nest controllers and providers for sign-in, members, invitations, account tokens and portal sessions. */
import type { Provider, Type } from '@nestjs/common';
import type { AdminDependencies } from './request/admin-dependencies.js';
import { AccountAccess } from '../members/account-access.js';
import { AccountMembers } from '../members/account-members.js';
import { AddressVerification } from '../members/links/address-verification.js';
import { Invitations } from '../members/links/invitations.js';
import { PasswordChange } from '../members/sign-in/password-change.js';
import { MemberAdmin } from '../members/member-admin.js';
import { PortalLinks } from '../members/links/portal-links.js';
import { MemberRemovalController } from './members/member-removal.controller.js';
import { AddressVerificationController } from './me/address-verification.controller.js';
import { MyAccountsController } from './me/my-accounts.controller.js';
import { MemberErasure } from '../members/member-erasure.js';
import { MembersController } from './members/members.controller.js';
import {
  AccountPortalSessionsController,
  PortalSessionsController,
} from './portal-sessions/portal-sessions.controller.js';
import { PasswordResetsController } from './sign-in/password-resets.controller.js';
import { GrantingRoles } from './access/granting-role.js';
import { RecentConfirmation } from './access/recent-confirmation.js';
import { PortalScopes } from './access/portal-scopes.js';
import { AccountInvitationsController } from './invitations/account-invitations.controller.js';
import { InvitationsController } from './invitations/invitations.controller.js';
import { AccountMembersController } from './members/account-members.controller.js';
import { ConfirmationsController, MyPasswordController } from './sign-in/confirmations.controller.js';
import { MySessionsController, SessionsController } from './sessions/sessions.controller.js';
import { AccountTokens } from '../members/account-tokens.js';
import { Sessions } from '../members/sessions.js';
import { LinkUse } from '../members/sign-in/link-use.js';
import { FirstOwner } from '../members/first-owner.js';
import { MemberStore } from '../members/members.js';
import { SignInMethods } from '../members/sign-in-methods.js';
import { SignInAttempts } from '../members/sign-in/attempts.js';
import { SignIn } from '../members/sign-in/sign-in.js';
import { MeController } from './me/me.controller.js';
import { MeReader } from './me/me-reader.js';
import { PasskeyConfirmationController, PasskeySignInController } from './sign-in/passkey-sign-in.controller.js';
import { MyPasskeysController } from './me/passkeys.controller.js';
import { Passkeys } from '../members/sign-in/passkeys.js';
import { MySecondFactorController } from './me/second-factor.controller.js';
import { SecondFactorController } from './sign-in/second-factor.controller.js';
import { SecondFactors } from '../members/sign-in/second-factors.js';
import { SecondFactorSignIn } from '../members/sign-in/second-factor-sign-in.js';
import { LinksController } from './sign-in/links.controller.js';
import { SignInResponses } from './sign-in/sign-in-responses.js';
import { SignInController } from './sign-in/sign-in.controller.js';
import { SignOutController } from './sign-in/sign-out.controller.js';
import { TokensController } from './tokens/tokens.controller.js';
import type { Members } from '../members/sign-in/open-members.js';

export const MEMBER_CONTROLLERS: readonly Type[] = [
  SignInController,
  SignOutController,
  SecondFactorController,
  PasskeySignInController,
  PasskeyConfirmationController,
  MyPasskeysController,
  MySecondFactorController,
  LinksController,
  MeController,
  ConfirmationsController,
  MyPasswordController,
  MySessionsController,
  MembersController,
  MemberRemovalController,
  MyAccountsController,
  AddressVerificationController,
  PortalSessionsController,
  AccountPortalSessionsController,
  PasswordResetsController,
  SessionsController,
  AccountMembersController,
  AccountInvitationsController,
  InvitationsController,
  TokensController,
];

/** Returns the Nest providers that `MEMBER_CONTROLLERS` and the guards depend on. */
export function memberProviders(members: Members, { url }: Pick<AdminDependencies, 'url'>): Provider[] {
  return [
    { provide: AccountAccess, useValue: members.access },
    { provide: AccountTokens, useValue: members.tokens },
    { provide: Sessions, useValue: members.sessions },
    { provide: MemberStore, useValue: members.store },
    { provide: SignInMethods, useValue: members.signInMethods },
    { provide: FirstOwner, useValue: members.firstOwner },
    { provide: SignIn, useValue: members.signIn },
    { provide: SignInAttempts, useValue: members.attempts },
    { provide: Passkeys, useValue: members.openPasskeys(url) },
    { provide: SecondFactors, useValue: members.secondFactors },
    { provide: SecondFactorSignIn, useValue: members.secondFactorSignIn },
    { provide: LinkUse, useValue: members.links },
    { provide: AccountMembers, useValue: members.accountMembers },
    { provide: AddressVerification, useValue: members.addressVerification },
    { provide: Invitations, useValue: members.invitations },
    { provide: PasswordChange, useValue: members.passwordChange },
    { provide: MemberAdmin, useValue: members.admin },
    { provide: MemberErasure, useValue: members.erasure },
    { provide: PortalLinks, useValue: members.portal },
    RecentConfirmation,
    PortalScopes,
    GrantingRoles,
    MeReader,
    SignInResponses,
  ];
}
