/** Wiring of the members room. */
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { Ground } from '../../config/ground.js';
import { adminUrlOf } from '../../config/model/admin-url.js';
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
import { Sessions } from '../sessions.js';
import { offeredWaysOf, OwnWays } from '../ways.js';
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
import { SignInSteps } from './steps.js';

/** MembersParts is what members need beside the ground. */
export interface MembersParts {
  /** Revokes the keys of assistants whose member loses access. */
  readonly keys: KeyRevocations;
  /** Counters of sign-in attempts. */
  readonly windows: ThrottleWindows;
  /** Every node has the same, so that a browser is known on all of them. */
  readonly operatorToken: string;
}

/** Services of the members room. */
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
  /** Creates the passkey service. The panel's origin is known only after its listener has started. */
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

/** Opens them. They follow `admin`. */
export function openMembers(
  ground: Pick<Ground, 'config' | 'database' | 'clock' | 'log' | 'secretBox'>,
  { keys, windows, operatorToken }: MembersParts,
): Members {
  const {
    config,
    database,
    clock,
    secretBox,
    log: { logger: log },
  } = ground;
  const settings = () => config.current.file.admin;
  const host = () => new URL(adminUrlOf(settings())).hostname;
  const hasMail = () => settings().mail !== undefined;
  const offeredWays = () => offeredWaysOf(settings().signIn);
  const sessionLimits = () => ({ idleMs: settings().sessions.idle, absoluteMs: settings().sessions.absolute });
  const store = new MemberStore(database, clock);
  const ways = new OwnWays(database, offeredWays);
  const notes = new PassingNotes(clock, log);
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
    links: new LinkTaking(database, clock, sessions, newPasswords, signIn, offeredWays, notices),
    firstOwner: new FirstOwner(database, clock, store),
    accountMembers: new AccountMembers(database, clock, accessChanges),
    invitations: new Invitations(database, clock, hasMail),
    admin: new MemberAdmin(database, clock, hasMail, accessChanges),
    forgetting: new Forgetting(database, clock, accessChanges),
    portal: new PortalLinks(database, clock, () => settings().portal.returnOrigins),
    addressVerification: new AddressVerification(database, clock, hasMail),
    passwordChange: new PasswordChange(database, clock, store, newPasswords, sessions, notices),
  };
}
