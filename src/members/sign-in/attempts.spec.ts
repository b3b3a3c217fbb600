/** Rate limits of sign-in: they stop guessing from any number of networks, and guesses do not lock members out. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { ProcessThrottleWindows } from '../../quota/throttle-windows.js';
import { SignInAttempts, type AttemptedSignIn } from './attempts.js';

const ANA = 'ana@example.com';
const MINUTE_MS = 60_000;

let nowMs: number;
let attempts: SignInAttempts;
beforeEach(() => {
  nowMs = 1_795_000_000_000;
  const clock = { now: () => nowMs };
  attempts = new SignInAttempts(new ProcessThrottleWindows(clock));
});

const from = (address: string, subject = ANA, browser: string | null = null): AttemptedSignIn => ({
  address,
  subject,
  browser,
});

/** Returns an IPv4 address for each number, each in its own network. */
const network = (number: number) => `198.${18 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;

/** Returns how many of these attempts are admitted. None of them succeeds. */
async function admitted(tries: readonly AttemptedSignIn[], kind: 'beginPassword' | 'beginCode' = 'beginPassword') {
  const verdicts = await Promise.allSettled(tries.map(async (attempted) => await attempts[kind](attempted)));
  return verdicts.filter(({ status }) => status === 'fulfilled').length;
}

const many = <Item>(count: number, item: (number: number) => Item) =>
  Array.from({ length: count }, (_, at) => item(at));

describe('guessing a password', () => {
  it('locks a name only for unknown browsers, not for passkeys or known browsers', async () => {
    expect(await admitted(many(11, (at) => from(network(at))))).toBe(10);
    expect(await admitted([from('203.0.113.9')])).toBe(0);
    expect(await admitted([from('203.0.113.9', ANA, 'her browser')])).toBe(1);
    // Passkeys, links to sign in and to reset the password.
    await (await attempts.beginUnnamed('203.0.113.9')).recordSuccess();
  });

  it('of one name from a thousand networks ends with the eleventh try', async () => {
    expect(await admitted(many(1_000, (at) => from(network(at))))).toBe(10);
    await expect(attempts.beginPassword(from('203.0.113.9'))).rejects.toMatchObject({
      code: 'too_many_failed_attempts',
      status: 429,
      options: { headers: ['Retry-After', expect.stringMatching(/^\d+$/)] },
    });
  });

  it('of a thousand names from one network ends with the 21st try of a minute, the 101st of an hour', async () => {
    expect(await admitted(many(1_000, (at) => from('203.0.113.9', `member-${at}@example.com`)))).toBe(20);
    let inAnHour = 20;
    for (let minute = 1; minute < 58; minute++) {
      nowMs += MINUTE_MS + 1_000;
      inAnHour += await admitted(many(30, (at) => from('203.0.113.9', `${minute}-${at}@example.com`)));
    }
    expect(inAnHour).toBe(100);
    expect(await admitted([from('203.0.113.10', 'somebody@example.com')])).toBe(1);
  });

  it('counts the IPv6 network of one subscriber as one address', async () => {
    const address = (at: number) => `2001:db8:0:1:${at.toString(16)}::${at.toString(16)}`;
    expect(await admitted(many(100, (at) => from(address(at), `member-${at}@example.com`)))).toBe(20);
    expect(await admitted([from('2001:db8:0:2::1', 'somebody@example.com')])).toBe(1);
  });

  it('does not lock the member out of a known browser, which has the same limit as others', async () => {
    await admitted(many(1_000, (at) => from(network(at))));
    const known = many(100, () => from('203.0.113.9', ANA, 'browser-1'));
    expect(await admitted(known.slice(0, 1))).toBe(1);
    expect(await admitted(known)).toBe(9);
    expect(await admitted([from('203.0.113.9', ANA, 'browser-2')])).toBe(1);
  });

  it('keeps a name locked while twelve thousand other networks try it', async () => {
    await admitted(many(10, (at) => from(network(at))));
    await admitted(many(12_000, (at) => from(network(20_000 + at))));
    expect(await admitted([from('203.0.113.9')])).toBe(0);
  });

  it('is possible again after fifteen minutes', async () => {
    expect(await admitted(many(20, (at) => from(network(at))))).toBe(10);
    nowMs += 16 * MINUTE_MS;
    expect(await admitted(many(20, (at) => from(network(at))))).toBe(10);
  });
});

describe('an attempt that is not a failure', () => {
  it('a successful sign-in is not counted and clears the failures of its name', async () => {
    for (let day = 0; day < 100; day++) {
      await admitted(many(9, (at) => from(network(at + day * 9))));
      await (await attempts.beginPassword(from('203.0.113.9'))).recordSuccess();
    }
    for (let member = 0; member < 1_000; member++) {
      await (await attempts.beginPassword(from('203.0.113.9', `member-${member}@example.com`))).recordSuccess();
    }
  });

  it('a sign-in in a known browser does not clear failures from other browsers', async () => {
    await admitted(many(10, (at) => from(network(at))));
    await (await attempts.beginPassword(from('203.0.113.9', ANA, 'browser-1'))).recordSuccess();
    expect(await admitted([from('203.0.113.10')])).toBe(0);
  });

  it('an attempt that fails for lack of capacity or a database is not counted', async () => {
    for (let attempt = 0; attempt < 200; attempt++) {
      await (await attempts.beginPassword(from('203.0.113.9'))).uncount();
    }
  });

  it('an attempt that is refused counts nowhere', async () => {
    await admitted(many(10, (at) => from(network(at))));
    await admitted(many(1_000, () => from('203.0.113.9')));
    expect(await admitted(many(30, (at) => from('203.0.113.9', `member-${at}@example.com`)))).toBe(20);
  });
});

describe('guessing a code', () => {
  it('ends after ten tries, and after fifty per day, even if the password is right each time', async () => {
    const tries: number[] = [];
    for (let quarter = 0; quarter < 20; quarter++) {
      await (await attempts.beginPassword(from(network(quarter)))).recordSuccess();
      const guesses = many(100, (at) => from(network(1_000 * quarter + at), 'mem_1'));
      tries.push(await admitted(guesses, 'beginCode'));
      nowMs += 16 * MINUTE_MS;
    }
    expect(tries).toEqual([10, 10, 10, 10, 10, ...many(15, () => 0)]);
  });

  it('without a name is counted by network', async () => {
    const verdicts = await Promise.allSettled(many(30, async () => await attempts.beginUnnamed('203.0.113.9')));
    expect(verdicts.filter(({ status }) => status === 'fulfilled')).toHaveLength(20);
  });
});
