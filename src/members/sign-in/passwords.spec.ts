/** Password hashes: equal cost for every check, detection of outdated costs, and errors for damaged hashes. */
import { describe, expect, it } from '@jest/globals';
import { PasswordWork } from './password-work.js';
import { argon2id, PASSWORD_COST, Passwords, type DeriveKey, type PasswordCost } from './passwords.js';

/** Records the costs of real derivations. */
class Counted {
  readonly costs: PasswordCost[] = [];
  readonly derive: DeriveKey = (message, salt, tagBytes, cost) => {
    this.costs.push(cost);
    return argon2id(message, salt, tagBytes, cost);
  };
}

const PASSWORD = 'river otters like cold water';

describe('the hash of a password', () => {
  const counted = new Counted();
  const passwords = new Passwords(new PasswordWork(), counted.derive);

  it('is a salted argon2id PHC string with OWASP cost, and matches only its own password', async () => {
    const [one, other] = [await passwords.hash(PASSWORD), await passwords.hash(PASSWORD)];
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(other).not.toBe(one);
    expect(await passwords.check(one, PASSWORD)).toEqual({ matches: true, outdated: false });
    expect(await passwords.check(one, `${PASSWORD} `)).toEqual({ matches: false, outdated: false });
    expect(await passwords.check(one, '')).toEqual({ matches: false, outdated: false });
  });

  it('is compatible with the reference implementation', async () => {
    // argon2 of Debian: echo -n password | argon2 somesalt -id -t 2 -k 65536 -p 1 -e; from the reference's own tests.
    const known = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
    expect(await passwords.check(known, 'password')).toEqual({ matches: true, outdated: true });
    expect(await passwords.check(known, 'differentpassword')).toEqual({ matches: false, outdated: false });
  });

  it('matches the same characters in another Unicode composition', async () => {
    const hash = await passwords.hash('café con leche y ﬁlm');
    expect((await passwords.check(hash, 'café con leche y film')).matches).toBe(true);
  });

  it.each([
    ['nobody', null, PASSWORD],
    ['a member who has no password', null, ''],
    ['a password of a megabyte', 'own', 'x'.repeat(1_000_000)],
  ])('is derived once at the current cost for %s, and does not match', async (_who, whose, password) => {
    const hash = whose === null ? null : await passwords.hash(PASSWORD);
    counted.costs.length = 0;
    expect(await passwords.check(hash, password)).toEqual({ matches: false, outdated: false });
    expect(counted.costs).toEqual([PASSWORD_COST]);
  });

  it.each(['', 'plain', '$argon2i$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc'])(
    'that is damaged (%j) causes an error instead of a mismatch',
    async (damaged) => {
      await expect(passwords.check(damaged, PASSWORD)).rejects.toThrow('The stored password hash is malformed');
    },
  );
});
