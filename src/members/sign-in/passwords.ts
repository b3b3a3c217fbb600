/**
 * Creates and verifies password hashes: argon2id (RFC 9106) in PHC string format. Each hash includes its cost, so that
 * a later version can raise the cost.
 */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { LONGEST_PASSWORD } from './password-rules.js';
import type { PasswordWork } from './password-work.js';

/**
 * PasswordCost holds the argon2id parameters of a hash. `memoryKib` is in KiB, and `passes` is the number of
 * iterations.
 */
export interface PasswordCost {
  readonly memoryKib: number;
  readonly passes: number;
  readonly parallelism: number;
}

/**
 * Cost of new hashes: OWASP's minimum for argon2id, about 46 ms of one CPU core. A member's next sign-in replaces a
 * hash of another cost.
 */
export const PASSWORD_COST: PasswordCost = { memoryKib: 19_456, passes: 2, parallelism: 1 };

const SALT_BYTES = 16;
const TAG_BYTES = 32;
const VERSION = 19;
const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

/** DeriveKey derives a key of `tagBytes` bytes from a password. The function is slow by design. */
export type DeriveKey = (message: Buffer, salt: Buffer, tagBytes: number, cost: PasswordCost) => Promise<Buffer>;

const runArgon2 = promisify(argon2);

/** Runs Node's argon2id in a libuv thread. */
export const argon2id: DeriveKey = (message, nonce, tagLength, { memoryKib, passes, parallelism }) =>
  runArgon2('argon2id', { message, nonce, tagLength, memory: memoryKib, passes, parallelism });

interface PasswordHash {
  readonly cost: PasswordCost;
  readonly salt: Buffer;
  readonly tag: Buffer;
}

/** PasswordVerdict is the result of a password check. */
export interface PasswordVerdict {
  readonly matches: boolean;
  /** Whether the password matches, but the hash has an outdated cost. */
  readonly outdated: boolean;
}

/**
 * Hash that is checked for unknown members, so that the check takes the usual time. No password matches the hash,
 * because its tag consists of zeros.
 */
const DUMMY_HASH: PasswordHash = { cost: PASSWORD_COST, salt: Buffer.alloc(SALT_BYTES), tag: Buffer.alloc(TAG_BYTES) };

/** Passwords creates and verifies hashes. */
export class Passwords {
  constructor(
    private readonly work: PasswordWork,
    private readonly derive: DeriveKey = argon2id,
  ) {}

  /**
   * Hashes a new password. Check the password with `passwordFault` first.
   * @throws Problem `sign_in_busy`
   */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const tag = await this.work.run(() => this.derive(messageOf(password), salt, TAG_BYTES, PASSWORD_COST));
    const { memoryKib, passes, parallelism } = PASSWORD_COST;
    const parameters = `m=${memoryKib},t=${passes},p=${parallelism}`;
    return `$argon2id$v=${VERSION}$${parameters}$${unpadded(salt)}$${unpadded(tag)}`;
  }

  /**
   * Compares a password with a hash. The hash null matches no password. A null hash and an overlong password take as
   * much time as a wrong password, so that timing does not reveal members.
   * @throws Problem `sign_in_busy`
   */
  async check(phc: string | null, password: string): Promise<PasswordVerdict> {
    const isTooLong = password.length > LONGEST_PASSWORD;
    const stored = phc === null || isTooLong ? DUMMY_HASH : parsePhc(phc);
    const message = messageOf(isTooLong ? '' : password);
    const tag = await this.work.run(() => this.derive(message, stored.salt, stored.tag.length, stored.cost));
    const matches = timingSafeEqual(tag, stored.tag) && stored !== DUMMY_HASH;
    return { matches, outdated: matches && !hasCurrentCost(stored) };
  }
}

/**
 * Encodes a password in Unicode form NFKC, so that input from different keyboards matches (NIST SP 800-63B-4, 3.1.1.2).
 */
function messageOf(password: string): Buffer {
  return Buffer.from(password.normalize('NFKC'), 'utf8');
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

/** @throws Error if the stored hash is malformed. This is a server error, not a wrong password. */
function parsePhc(phc: string): PasswordHash {
  const [, memoryKib, passes, parallelism, salt, tag] = PHC.exec(phc) ?? [];
  if (salt === undefined || tag === undefined) throw new Error('The stored password hash is malformed');
  const cost = { memoryKib: Number(memoryKib), passes: Number(passes), parallelism: Number(parallelism) };
  return { cost, salt: Buffer.from(salt, 'base64'), tag: Buffer.from(tag, 'base64') };
}

function hasCurrentCost({ cost, salt, tag }: PasswordHash): boolean {
  return (
    cost.memoryKib === PASSWORD_COST.memoryKib &&
    cost.passes === PASSWORD_COST.passes &&
    cost.parallelism === PASSWORD_COST.parallelism &&
    salt.length === SALT_BYTES &&
    tag.length === TAG_BYTES
  );
}
