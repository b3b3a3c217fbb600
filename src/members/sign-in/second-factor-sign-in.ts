/**
 * Completes a sign-in with a second factor, after the password or a reset link. The second factor is a code of the
 * authenticator app, or a recovery code.
 */
import type { Clock } from '../../platform/clock.js';
import { METRICS } from '../../platform/metrics.js';
import { Problem } from '../../platform/problems/errors.js';
import type { SignInMethods } from '../sign-in-methods.js';
import type { CountedAttempt, SignInAttempts } from './attempts.js';
import type { KnownBrowsers } from './known-browsers.js';
import type { SecondFactors, ShownFactor } from './second-factors.js';
import type { Browser, SignedInMember, SignIn } from './sign-in.js';
import type { CreatedStep, SignInSteps, StepData } from './sign-in-steps.js';

/** SecondFactorSignIn starts and completes the second step of a sign-in. */
export class SecondFactorSignIn {
  constructor(
    private readonly steps: SignInSteps,
    private readonly factors: SecondFactors,
    private readonly attempts: SignInAttempts,
    private readonly knownBrowsers: KnownBrowsers,
    private readonly signIn: SignIn,
    private readonly ways: SignInMethods,
    private readonly clock: Clock,
  ) {}

  /** Starts the second step after the first factor `method`. The browser must send the returned token with the code. */
  async begin(memberId: string, method: StepData['second_factor']['method']): Promise<CreatedStep> {
    return await this.steps.createStep('second_factor', memberId, { method });
  }

  /**
   * Completes a sign-in and starts the session.
   * @throws Problem `invalid_credentials` for a wrong or used code, `too_many_failed_attempts`
   * @throws Problem `sign_in_ended` after five attempts or if the step has expired
   * @throws Problem `forbidden` if passwords were disabled after the password was verified
   * @throws Problem `resource_not_found` if the member no longer exists
   */
  async finish(stepToken: string | undefined, shown: ShownFactor, browser: Browser): Promise<SignedInMember> {
    const { memberId, data } = await this.steps.countAttempt(stepToken, 'second_factor');
    if (memberId === null) throw new Error('a second factor is somebody’s');
    if (data.method === 'password') this.ways.checkOffered('passwords');
    const secondFactor = 'recoveryCode' in shown ? 'recovery_code' : 'totp';
    if (!(await this.isRight(memberId, shown, browser))) {
      this.signIn.recordFailedSignIn(memberId, data.method, browser, secondFactor);
      throw wrongCode();
    }
    await this.steps.consumeStep(stepToken, 'second_factor');
    return await this.signIn.startSession(memberId, data.method, browser, { secondFactor });
  }

  /**
   * Reports whether the code is right, and marks a right code as used. A wrong code counts as a failed sign-in.
   * Confirmations of signed-in members use this method too.
   * @throws Problem `too_many_failed_attempts`
   */
  async isRight(memberId: string, shown: ShownFactor, browser: Browser): Promise<boolean> {
    const known = this.knownBrowsers.readBrowserId(browser.known, memberId, this.clock.now());
    const attempt = await this.beginAttempt({ address: browser.ip, subject: memberId, browser: known });
    let isRight = false;
    try {
      isRight = await this.factors.verifyFactor(memberId, shown);
    } catch (error) {
      await attempt.uncount();
      throw error;
    }
    if (isRight) await attempt.recordSuccess();
    return isRight;
  }

  private async beginAttempt(attempted: Parameters<SignInAttempts['beginCode']>[0]): Promise<CountedAttempt> {
    try {
      return await this.attempts.beginCode(attempted);
    } catch (error) {
      if (error instanceof Problem) METRICS.adminSignIns.series('password', 'throttled').inc();
      throw error;
    }
  }
}

function wrongCode(): Problem {
  return new Problem('invalid_credentials', {
    detail: 'Invalid or already used code. Wait for the next one, or use a recovery code.',
    headers: ['WWW-Authenticate', 'Bearer realm="trailgate-admin"'],
  });
}
