/**
 * The throttle of signing in: by network, and by the name that is tried, whether anybody has it or not. Both are asked
 * before a hash is worked out. An attempt counts when it begins, so that a thousand at once are counted as a thousand,
 * and is refunded when it was none.
 */
import { createHash } from 'node:crypto';
import { clientNetwork } from '../../keys/client-network.js';
import { retryAfterOf, Throttle } from '../../quota/throttle.js';
import { THROTTLES, type ThrottleRow } from '../../quota/model/throttle-rows.js';
import type { ThrottleVerdict, ThrottleWindows } from '../../quota/throttle-windows.js';
import { Problem } from '../../platform/problems/errors.js';

/** A person mistypes a password a few times, an office of people more often; a program tries thousands. */
const BY_NETWORK: readonly ThrottleRow[] = [THROTTLES.signInNetwork, THROTTLES.signInNetworkHour];
/** However many networks they come from. */
const BY_NAME: readonly ThrottleRow[] = [THROTTLES.signInName];
/** A browser in which the member has signed in before: whoever guesses elsewhere does not lock it out. */
const BY_BROWSER: readonly ThrottleRow[] = [THROTTLES.signInBrowser];
/** Codes of a second factor: three of a million are right at a time, so a day of guessing must stay short. */
const BY_CODES: readonly ThrottleRow[] = [THROTTLES.signInCodes, THROTTLES.signInCodesDay];

/** AttemptedSignIn is who tries what. */
export interface AttemptedSignIn {
  readonly address: string;
  /** What stands for the member: the e-mail address as it is looked up, or the member's id where codes are tried. */
  readonly subject: string;
  /** What `KnownBrowsers` found of this browser and this member; null where it has not signed in here before. */
  readonly browser: string | null;
}

/** CountedAttempt is an attempt under way: counted as a failure until one of these is called. */
export interface CountedAttempt {
  /** It was right, and nothing more is asked: the failures before it are forgotten, those of its network stay. */
  succeeded(): Promise<void>;
  /** It was neither right nor wrong, or right and not yet the end: it does not count. */
  refunded(): Promise<void>;
}

interface Count {
  readonly throttle: Throttle;
  readonly key: string;
}

interface Counted extends Count {
  readonly verdict: ThrottleVerdict;
}

/** SignInAttempts counts failed attempts, and refuses more of them than a person makes. */
export class SignInAttempts {
  constructor(private readonly windows: ThrottleWindows) {}

  /**
   * Begins an attempt with a password.
   * @throws Problem `too_many_failed_attempts` with `Retry-After`; then nothing has been counted.
   */
  async beginPassword(attempted: AttemptedSignIn): Promise<CountedAttempt> {
    return await this.begin(attempted, BY_NAME);
  }

  /**
   * Begins an attempt with a code of a second factor, or a recovery code.
   * @throws Problem `too_many_failed_attempts` with `Retry-After`; then nothing has been counted.
   */
  async beginCode(attempted: AttemptedSignIn): Promise<CountedAttempt> {
    return await this.begin(attempted, BY_CODES);
  }

  /**
   * Begins an attempt that names nobody: a passkey, a link. It is counted by its network alone.
   * @throws Problem `too_many_failed_attempts` with `Retry-After`; then nothing has been counted.
   */
  async beginUnnamed(address: string): Promise<CountedAttempt> {
    return underway(await this.count(this.ofNetwork(address)), []);
  }

  private async begin({ address, subject, browser }: AttemptedSignIn, ofSubject: readonly ThrottleRow[]) {
    const own = this.ofSubject(subject, browser, ofSubject);
    const counted = await this.count([...this.ofNetwork(address), ...own]);
    return underway(counted, own);
  }

  private ofNetwork(address: string): Count[] {
    const key = clientNetwork(address);
    return BY_NETWORK.map((row) => ({ throttle: new Throttle(this.windows, row), key }));
  }

  private ofSubject(subject: string, browser: string | null, ofSubject: readonly ThrottleRow[]): Count[] {
    // The name is that of somebody who may not be a member: it stands nowhere as it is.
    const rows = browser === null || ofSubject === BY_CODES ? ofSubject : BY_BROWSER;
    const key = createHash('sha256')
      .update(`${subject}\0${browser ?? ''}`)
      .digest('base64url');
    return rows.map((row) => ({ throttle: new Throttle(this.windows, row), key }));
  }

  /** Counts in every window, or in none of them. */
  private async count(counts: readonly Count[]): Promise<readonly Counted[]> {
    const counted: Counted[] = [];
    for (const { throttle, key } of counts) {
      const verdict = await throttle.count(key);
      if (!verdict.admitted) {
        await refund(counted);
        throw throttled(verdict);
      }
      counted.push({ throttle, key, verdict });
    }
    return counted;
  }
}

function underway(counted: readonly Counted[], own: readonly Count[]): CountedAttempt {
  return {
    refunded: async () => await refund(counted),
    succeeded: async () => {
      await refund(counted);
      await Promise.all(own.map(({ throttle, key }) => throttle.forget(key)));
    },
  };
}

async function refund(counted: readonly Counted[]): Promise<void> {
  await Promise.all(counted.map(({ throttle, key, verdict }) => throttle.refund(key, verdict)));
}

function throttled(verdict: ThrottleVerdict): Problem {
  const seconds = String(retryAfterOf(verdict));
  return new Problem('too_many_failed_attempts', {
    // One text for a network and a name: which of them it was would tell others who is being guessed at.
    detail: `Too many failed attempts to sign in. Wait ${seconds} seconds.`,
    headers: ['Retry-After', seconds],
  });
}
