/**
 * Creates and verifies the cookie that marks browsers in which a member has signed in before. Such browsers have their
 * own rate limit, so that guesses in other browsers cannot lock a member out.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const ID_BYTES = 16;
const MAC_BYTES = 32;
const DAY_SECONDS = 24 * 3_600;
/** Lifetime of the cookie after a sign-in, in seconds. */
export const KNOWN_BROWSER_SECONDS = 180 * DAY_SECONDS;

/** KnownBrowsers creates and verifies cookie values. The values are authenticated with a MAC, so nothing is stored. */
export class KnownBrowsers {
  /** @param key secret of the installation, used only for this cookie */
  constructor(private readonly key: Buffer) {}

  /** Creates the cookie value after a complete sign-in. */
  createCookieValue(memberId: string, nowMs: number): string {
    const id = randomBytes(ID_BYTES);
    const untilSeconds = Math.floor(nowMs / 1_000) + KNOWN_BROWSER_SECONDS;
    return `${id.toString('base64url')}.${untilSeconds}.${this.mac(id, untilSeconds, memberId).toString('base64url')}`;
  }

  /**
   * Returns the browser's ID if the cookie value is valid for this member and has not expired. Otherwise returns null.
   */
  readBrowserId(value: string | undefined, memberId: string, nowMs: number): string | null {
    const [, id = '', until = '', mac = ''] = /^([\w-]{22})\.(\d{1,11})\.([\w-]{43})$/.exec(value ?? '') ?? [];
    const given = Buffer.from(mac, 'base64url');
    if (given.length !== MAC_BYTES || Number(until) * 1_000 <= nowMs) return null;
    const expected = this.mac(Buffer.from(id, 'base64url'), Number(until), memberId);
    return timingSafeEqual(given, expected) ? id : null;
  }

  private mac(id: Buffer, untilSeconds: number, memberId: string): Buffer {
    return createHmac('sha256', this.key).update(id).update(`\0${untilSeconds}\0${memberId}`).digest();
  }
}
