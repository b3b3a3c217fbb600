/** Passwords as they are kept: argon2id (RFC 9106) as a PHC string, so that its cost can be raised later. */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { LONGEST_PASSWORD } from './password-rules.js';
import type { PasswordWork } from './password-work.js';

/** PasswordCost says how much work a hash is. */
export interface PasswordCost {
  readonly memoryKib: number;
  readonly passes: number;
  readonly parallelism: number;
}

/** What OWASP asks of argon2id: 46 ms of a core. A hash of another cost is made anew at the next sign-in with it. */
export const PASSWORD_COST: PasswordCost = { memoryKib: 19_456, passes: 2, parallelism: 1 };

const SALT_BYTES = 16;
const TAG_BYTES = 32;
const VERSION = 19;
const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

/** DeriveKey is the function that takes the time. */
export type DeriveKey = (message: Buffer, salt: Buffer, tagBytes: number, cost: PasswordCost) => Promise<Buffer>;

const runArgon2 = promisify(argon2);

/** Argon2id of Node, in a thread of libuv. */
export const argon2id: DeriveKey = (message, nonce, tagLength, { memoryKib, passes, parallelism }) =>
  runArgon2('argon2id', { message, nonce, tagLength, memory: memoryKib, passes, parallelism });

interface PasswordHash {
  readonly cost: PasswordCost;
  readonly salt: Buffer;
  readonly tag: Buffer;
}

/** PasswordVerdict says whether a password is the one, and whether its hash should be made anew. */
export interface PasswordVerdict {
  readonly matches: boolean;
  /** True only with `matches`: the hash was made at another cost than today's. */
  readonly outdated: boolean;
}

/** What is compared where there is no hash: no password has a tag of zeros, and the work is the same. */
const NOBODYS: PasswordHash = { cost: PASSWORD_COST, salt: Buffer.alloc(SALT_BYTES), tag: Buffer.alloc(TAG_BYTES) };

/** Passwords makes and checks what is kept of a password. */
export class Passwords {
  constructor(
    private readonly work: PasswordWork,
    private readonly derive: DeriveKey = argon2id,
  ) {}

  /**
   * Hashes a new password, which `passwordFault` has found nothing against.
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
   * Compares a password with the hash of a member. Nobody (null), and a password that is longer than any, cost the same
   * work, so that the time does not tell who is a member.
   * @throws Problem `sign_in_busy`
   */
  async check(phc: string | null, password: string): Promise<PasswordVerdict> {
    const isLong = password.length > LONGEST_PASSWORD;
    const kept = phc === null || isLong ? NOBODYS : parsePhc(phc);
    const message = messageOf(isLong ? '' : password);
    const tag = await this.work.run(() => this.derive(message, kept.salt, kept.tag.length, kept.cost));
    const matches = timingSafeEqual(tag, kept.tag) && kept !== NOBODYS;
    return { matches, outdated: matches && !isOfToday(kept) };
  }
}

/** NFKC, so that one password typed on two keyboards is one (NIST SP 800-63B-4, 3.1.1.2). */
function messageOf(password: string): Buffer {
  return Buffer.from(password.normalize('NFKC'), 'utf8');
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

/** @throws Error where this program did not write it: the row is damaged, and nobody's password is wrong for it. */
function parsePhc(phc: string): PasswordHash {
  const [, memoryKib, passes, parallelism, salt, tag] = PHC.exec(phc) ?? [];
  if (salt === undefined || tag === undefined) throw new Error('The kept hash of a password cannot be read');
  const cost = { memoryKib: Number(memoryKib), passes: Number(passes), parallelism: Number(parallelism) };
  return { cost, salt: Buffer.from(salt, 'base64'), tag: Buffer.from(tag, 'base64') };
}

function isOfToday({ cost, salt, tag }: PasswordHash): boolean {
  return (
    cost.memoryKib === PASSWORD_COST.memoryKib &&
    cost.passes === PASSWORD_COST.passes &&
    cost.parallelism === PASSWORD_COST.parallelism &&
    salt.length === SALT_BYTES &&
    tag.length === TAG_BYTES
  );
}
