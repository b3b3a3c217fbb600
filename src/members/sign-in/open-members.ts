/** Creates the services of `src/members` and connects them with each other. */
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { SharedDependencies } from '../../config/shared-dependencies.js';
import { adminUrlOf } from '../../config/model/admin-url.js';
import { AccountAccess } from '../account-access.js';
import { AccountMembers } from '../account-members.js';
import { AccountTokens } from '../account-tokens.js';
import { AccessChanges, type KeyRevocations } from '../credential-ends.js';
import { FirstOwner } from '../first-owner.js';
import { MemberErasure } from '../member-erasure.js';
import { LinkUse } from './link-use.js';
import { AddressVerification } from '../links/address-verification.js';
import { Invitations } from '../links/invitations.js';
import { MemberAdmin } from '../member-admin.js';
import { PortalLinks } from '../links/portal-links.js';
import { MemberStore } from '../members.js';
import { BestEffortWrites } from '../best-effort-writes.js';
import { Sessions } from '../sessions.js';
import { offeredMethodsOf, SignInMethods } from '../sign-in-methods.js';
import type { ThrottleWindows } from '../../quota/throttle-windows.js';
import { SignInAttempts } from './attempts.js';
import { KnownBrowsers } from './known-browsers.js';
import { keyFor } from '../../stores/secrets/secret-box.js';
import { NewPasswords } from './new-passwords.js';
import { PasswordChange } from './password-change.js';
import { PasswordWork } from './password-work.js';
import { Passkeys } from './passkeys.js';
import { Passwords } from './passwords.js';
import { SecondFactorSignIn } from './second-factor-sign-in.js';
import { SecondFactors } from './second-factors.js';
import { SignIn } from './sign-in.js';
import { SignInNotices } from './sign-in-notices.js';
import { SignInSteps } from './sign-in-steps.js';

/** MembersParts holds the dependencies that `SharedDependencies` does not have. */
export interface MembersParts {
  /** Revokes the keys of OAuth clients when the member who authorized them loses access. */
  readonly keys: KeyRevocations;
  /** Counts sign-in attempts. */
  readonly windows: ThrottleWindows;
  /**
   * Secret of the installation, from which the key of the known browser cookie is derived. The secret is the same on
   * every node, so that all nodes accept the cookie.
   */
  readonly operatorToken: string;
}

/** Members holds the services of `src/members`. */
export interface Members {
  readonly database: DatabaseHandle;
  readonly access: AccountAccess;
  readonly accessChanges: AccessChanges;
  readonly tokens: AccountTokens;
  readonly sessions: Sessions;
  readonly store: MemberStore;
  readonly signInMethods: SignInMethods;
  readonly passwords: Passwords;
  readonly newPasswords: NewPasswords;
  readonly attempts: SignInAttempts;
  readonly signIn: SignIn;
  readonly steps: SignInSteps;
  /** Creates the passkey service. The panel's origin is known only after its listener has started. */
  readonly openPasskeys: (origin: () => string) => Passkeys;
  readonly secondFactors: SecondFactors;
  readonly secondFactorSignIn: SecondFactorSignIn;
  readonly links: LinkUse;
  readonly firstOwner: FirstOwner;
  readonly accountMembers: AccountMembers;
  readonly invitations: Invitations;
  readonly passwordChange: PasswordChange;
  readonly addressVerification: AddressVerification;
  readonly admin: MemberAdmin;
  readonly erasure: MemberErasure;
  readonly portal: PortalLinks;
}

/** Creates the services. The services read the current `admin` configuration at each use. */
export function openMembers(
  shared: Pick<SharedDependencies, 'config' | 'database' | 'clock' | 'log' | 'secretBox'>,
  { keys, windows, operatorToken }: MembersParts,
): Members {
  const {
    config,
    database,
    clock,
    secretBox,
    log: { logger: log },
  } = shared;
  const settings = () => config.current.file.admin;
  const host = () => new URL(adminUrlOf(settings())).hostname;
  const hasMail = () => settings().mail !== undefined;
  const offeredMethods = () => offeredMethodsOf(settings().signIn);
  const sessionLimits = () => ({ idleMs: settings().sessions.idle, absoluteMs: settings().sessions.absolute });
  const store = new MemberStore(database, clock);
  const signInMethods = new SignInMethods(database, offeredMethods);
  const notes = new BestEffortWrites(clock, log);
  const sessions = new Sessions(database, clock, sessionLimits, notes);
  const passwords = new Passwords(new PasswordWork());
  const newPasswords = new NewPasswords(passwords, host);
  const attempts = new SignInAttempts(windows);
  const knownBrowsers = new KnownBrowsers(keyFor('known-browsers', operatorToken));
  const signIn = new SignIn(database, clock, log, sessions, passwords, attempts, knownBrowsers);
  const steps = new SignInSteps(database.db, clock);
  const notices = new SignInNotices(clock, hasMail);
  const accessChanges = new AccessChanges(database, clock, keys);
  const issuer = () => `Trailgate (${host()})`;
  const secondFactors = new SecondFactors(database, clock, secretBox, issuer, notices);
  return {
    database,
    access: new AccountAccess(database.db),
    accessChanges,
    tokens: new AccountTokens(database, clock, notes, log),
    sessions,
    store,
    signInMethods,
    passwords,
    newPasswords,
    attempts,
    signIn,
    steps,
    openPasskeys: (origin) => {
      const party = () => ({ id: new URL(origin()).hostname, origin: origin(), name: 'Trailgate' });
      return new Passkeys({ database, clock, steps, log, signInMethods, party, notices });
    },
    secondFactors,
    secondFactorSignIn: new SecondFactorSignIn(
      steps,
      secondFactors,
      attempts,
      knownBrowsers,
      signIn,
      signInMethods,
      clock,
    ),
    links: new LinkUse(database, clock, sessions, newPasswords, signIn, offeredMethods, notices),
    firstOwner: new FirstOwner(database, clock, store),
    accountMembers: new AccountMembers(database, clock, accessChanges),
    invitations: new Invitations(database, clock, hasMail),
    admin: new MemberAdmin(database, clock, hasMail, accessChanges),
    erasure: new MemberErasure(database, clock, accessChanges),
    portal: new PortalLinks(database, clock, () => settings().portal.returnOrigins),
    addressVerification: new AddressVerification(database, clock, hasMail),
    passwordChange: new PasswordChange(database, clock, store, newPasswords, sessions, notices),
  };
}
