/** Puts together what signs people in and says what they may. */
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import { AccountAccess } from '../account-access.js';
import { AccountMembers } from '../account-members.js';
import { AccountTokens } from '../account-tokens.js';
import { AccessChanges, type KeyRevocations } from '../credential-ends.js';
import { FirstOwner } from '../first-owner.js';
import { Forgetting } from '../forgetting.js';
import { LinkTaking } from './link-taking.js';
import { AddressVerification } from '../links/address-verification.js';
import { Invitations } from '../links/invitations.js';
import { MemberAdmin } from '../member-admin.js';
import { PortalLinks } from '../links/portal-links.js';
import { MemberStore } from '../members.js';
import { PassingNotes } from '../passing-notes.js';
import { Sessions, type SessionLimits } from '../sessions.js';
import { OwnWays, type OfferedWays } from '../ways.js';
import type { ThrottleWindows } from '../../quota/throttle-windows.js';
import { SignInAttempts } from './attempts.js';
import { KnownBrowsers } from './known-browsers.js';
import type { SecretBox } from '../../stores/secrets/secret-box.js';
import { NewPasswords } from './new-passwords.js';
import { PasswordChange } from './password-change.js';
import { PasswordWork } from './password-work.js';
import { Passkeys } from './passkeys.js';
import { Passwords } from './passwords.js';
import { SecondFactorSignIn } from './second-factor-sign-in.js';
import { SecondFactors } from './second-factors.js';
import { SignIn } from './sign-in.js';
import { SignInNotices } from './sign-in-notices.js';
import { SignInSteps } from './steps.js';

/** What members stand on. */
export interface MembersParts {
  readonly database: DatabaseHandle;
  readonly clock: Clock;
  readonly log: Logger;
  /** Revokes the keys of assistants whose member loses access. */
  readonly keys: KeyRevocations;
  readonly sessionLimits: () => SessionLimits;
  /** Where attempts to sign in are counted. */
  readonly windows: ThrottleWindows;
  /** Of the installation, for cookies of browsers that are known. */
  readonly browserKey: Buffer;
  /** For what has to be read again; null: there is no key for it. */
  readonly secretBox: SecretBox | null;
  /** Of the panel: nobody's password is made of it. */
  readonly host: () => string;
  /** Whether links go out by mail. */
  readonly hasMail: () => boolean;
  /** How one may sign in. */
  readonly offeredWays: () => OfferedWays;
  /** Where a portal session may lead back to. */
  readonly returnOrigins: () => readonly string[];
}

/** The parts of members. */
export interface Members {
  readonly database: DatabaseHandle;
  readonly access: AccountAccess;
  readonly accessChanges: AccessChanges;
  readonly tokens: AccountTokens;
  readonly sessions: Sessions;
  readonly store: MemberStore;
  readonly ways: OwnWays;
  readonly passwords: Passwords;
  readonly newPasswords: NewPasswords;
  readonly attempts: SignInAttempts;
  readonly signIn: SignIn;
  readonly steps: SignInSteps;
  /** For the panel under an origin, which is known once it listens. */
  readonly openPasskeys: (origin: () => string) => Passkeys;
  readonly secondFactors: SecondFactors;
  readonly secondFactorSignIn: SecondFactorSignIn;
  readonly links: LinkTaking;
  readonly firstOwner: FirstOwner;
  readonly accountMembers: AccountMembers;
  readonly invitations: Invitations;
  readonly passwordChange: PasswordChange;
  readonly addressVerification: AddressVerification;
  readonly admin: MemberAdmin;
  readonly forgetting: Forgetting;
  readonly portal: PortalLinks;
}

/** Opens them on a database. */
export function openMembers(parts: MembersParts): Members {
  const { database, clock, log } = parts;
  const store = new MemberStore(database, clock);
  const ways = new OwnWays(database, parts.offeredWays);
  const notes = new PassingNotes(clock, log);
  const sessions = new Sessions(database, clock, parts.sessionLimits, notes);
  const passwords = new Passwords(new PasswordWork());
  const newPasswords = new NewPasswords(passwords, parts.host);
  const attempts = new SignInAttempts(parts.windows);
  const knownBrowsers = new KnownBrowsers(parts.browserKey);
  const signIn = new SignIn(database, clock, log, sessions, passwords, attempts, knownBrowsers);
  const steps = new SignInSteps(database.db, clock);
  const notices = new SignInNotices(clock, parts.hasMail);
  const accessChanges = new AccessChanges(database, clock, parts.keys);
  const issuer = () => `Trailgate (${parts.host()})`;
  const secondFactors = new SecondFactors(database, clock, parts.secretBox, issuer, notices);
  return {
    database,
    access: new AccountAccess(database.db),
    accessChanges,
    tokens: new AccountTokens(database, clock, notes, log),
    sessions,
    store,
    ways,
    passwords,
    newPasswords,
    attempts,
    signIn,
    steps,
    openPasskeys: (origin) => {
      const party = () => ({ id: new URL(origin()).hostname, origin: origin(), name: 'Trailgate' });
      return new Passkeys({ database, clock, steps, log, ways, party, notices });
    },
    secondFactors,
    secondFactorSignIn: new SecondFactorSignIn(steps, secondFactors, attempts, knownBrowsers, signIn, clock),
    links: new LinkTaking(database, clock, sessions, newPasswords, signIn, parts.offeredWays, notices),
    firstOwner: new FirstOwner(database, clock, store),
    accountMembers: new AccountMembers(database, clock, accessChanges),
    invitations: new Invitations(database, clock, parts.hasMail),
    admin: new MemberAdmin(database, clock, parts.hasMail, accessChanges),
    forgetting: new Forgetting(database, clock, accessChanges),
    portal: new PortalLinks(database, clock, parts.returnOrigins),
    addressVerification: new AddressVerification(database, clock, parts.hasMail),
    passwordChange: new PasswordChange(database, clock, store, newPasswords, sessions, notices),
  };
}
