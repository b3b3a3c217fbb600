/**
 * Limits the rate of failed sign-ins, by network and by the name that was tried. Unknown names count like known names.
 * An attempt counts before the slow password hash, so that concurrent attempts cannot exceed the limit. Attempts that
 * were not failures are refunded.
 */
import { createHash } from 'node:crypto';
import { clientNetwork } from '../../keys/client-network.js';
import { retryAfterOf, Throttle } from '../../quota/throttle.js';
import { THROTTLES, type ThrottleRow } from '../../quota/model/throttle-rows.js';
import type { ThrottleVerdict, ThrottleWindows } from '../../quota/throttle-windows.js';
import { Problem } from '../../platform/problems/errors.js';

/** Limits per network. The limits allow a few typing errors per person, and several people on one network. */
const BY_NETWORK: readonly ThrottleRow[] = [THROTTLES.signInNetwork, THROTTLES.signInNetworkHour];
/** Limits per email address, against guesses from any number of networks. */
const BY_NAME: readonly ThrottleRow[] = [THROTTLES.signInName];
/**
 * Limits per browser in which the member has signed in before. Guesses from other browsers do not count in these
 * limits, so that they cannot lock the member out.
 */
const BY_BROWSER: readonly ThrottleRow[] = [THROTTLES.signInBrowser];
/** Limits for second-factor codes. Three of a million codes are valid at a time, so the daily limit is small. */
const BY_CODES: readonly ThrottleRow[] = [THROTTLES.signInCodes, THROTTLES.signInCodesDay];

/** AttemptedSignIn describes an attempt: its network address, the member whom it names, and the browser. */
export interface AttemptedSignIn {
  readonly address: string;
  /** The normalized email address, or the member's ID for second-factor codes and recovery codes. */
  readonly subject: string;
  /** ID that `KnownBrowsers` found in the cookie. Null if the member has not signed in with this browser before. */
  readonly browser: string | null;
}

/**
 * CountedAttempt is an attempt in progress. The attempt counts as a failure unless the caller calls one of these
 * methods.
 */
export interface CountedAttempt {
  /**
   * Records a success. Removes this attempt from the count, and clears the earlier failures of the member or browser.
   * Failures of other attempts from the network still count.
   */
  recordSuccess(): Promise<void>;
  /** Removes this attempt from the count, because an error prevented a result or another factor is needed. */
  uncount(): Promise<void>;
}

interface Count {
  readonly throttle: Throttle;
  readonly key: string;
}

interface Counted extends Count {
  readonly verdict: ThrottleVerdict;
}

/** SignInAttempts counts failed attempts, and rejects attempts beyond the limits. */
export class SignInAttempts {
  constructor(private readonly windows: ThrottleWindows) {}

  /**
   * Starts an attempt with a password.
   * @throws Problem `too_many_failed_attempts` with `Retry-After`; the attempt is then not counted
   */
  async beginPassword(attempted: AttemptedSignIn): Promise<CountedAttempt> {
    return await this.begin(attempted, BY_NAME);
  }

  /**
   * Starts an attempt with a second-factor code or a recovery code.
   * @throws Problem `too_many_failed_attempts` with `Retry-After`; the attempt is then not counted
   */
  async beginCode(attempted: AttemptedSignIn): Promise<CountedAttempt> {
    return await this.begin(attempted, BY_CODES);
  }

  /**
   * Starts an attempt without a name, such as a passkey or a link. Only the limits of the network apply.
   * @throws Problem `too_many_failed_attempts` with `Retry-After`; the attempt is then not counted
   */
  async beginUnnamed(address: string): Promise<CountedAttempt> {
    return countedAttempt(await this.count(this.networkCounts(address)), []);
  }

  private async begin({ address, subject, browser }: AttemptedSignIn, subjectRows: readonly ThrottleRow[]) {
    const own = this.subjectCounts(subject, browser, subjectRows);
    const counted = await this.count([...this.networkCounts(address), ...own]);
    return countedAttempt(counted, own);
  }

  private networkCounts(address: string): Count[] {
    const key = clientNetwork(address);
    return BY_NETWORK.map((row) => ({ throttle: new Throttle(this.windows, row), key }));
  }

  private subjectCounts(subject: string, browser: string | null, subjectRows: readonly ThrottleRow[]): Count[] {
    // Hash the subject, because it may be the email address of someone who is not a member.
    const rows = browser === null || subjectRows === BY_CODES ? subjectRows : BY_BROWSER;
    const key = createHash('sha256')
      .update(`${subject}\0${browser ?? ''}`)
      .digest('base64url');
    return rows.map((row) => ({ throttle: new Throttle(this.windows, row), key }));
  }

  /** Counts the attempt in every window. If one window is full, counts the attempt in none and throws. */
  private async count(counts: readonly Count[]): Promise<readonly Counted[]> {
    const counted: Counted[] = [];
    for (const { throttle, key } of counts) {
      const verdict = await throttle.countHit(key);
      if (!verdict.admitted) {
        await refund(counted);
        throw tooManyAttempts(verdict);
      }
      counted.push({ throttle, key, verdict });
    }
    return counted;
  }
}

function countedAttempt(counted: readonly Counted[], own: readonly Count[]): CountedAttempt {
  return {
    uncount: async () => await refund(counted),
    recordSuccess: async () => {
      await refund(counted);
      await Promise.all(own.map(({ throttle, key }) => throttle.clearHits(key)));
    },
  };
}

async function refund(counted: readonly Counted[]): Promise<void> {
  await Promise.all(counted.map(({ throttle, key, verdict }) => throttle.refund(key, verdict)));
}

function tooManyAttempts(verdict: ThrottleVerdict): Problem {
  const seconds = String(retryAfterOf(verdict));
  return new Problem('too_many_failed_attempts', {
    // Use one text for all limits, so that the error does not reveal which names are being guessed.
    detail: `Too many failed attempts to sign in. Wait ${seconds} seconds.`,
    headers: ['Retry-After', seconds],
  });
}
