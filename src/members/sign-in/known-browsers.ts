/** Browsers in which a member has signed in before, told by a cookie: guessing elsewhere does not lock them out. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const ID_BYTES = 16;
const MAC_BYTES = 32;
const DAY_SECONDS = 24 * 3_600;
/** How long a browser stays known after a sign-in in it. */
export const KNOWN_BROWSER_SECONDS = 180 * DAY_SECONDS;

/** KnownBrowsers writes and reads the value of that cookie; nothing of it is stored. */
export class KnownBrowsers {
  /** @param key of the installation, for this purpose alone. */
  constructor(private readonly key: Buffer) {}

  /** The value for a browser in which this member has just signed in, second factor and all. */
  remember(memberId: string, nowMs: number): string {
    const id = randomBytes(ID_BYTES);
    const untilSeconds = Math.floor(nowMs / 1_000) + KNOWN_BROWSER_SECONDS;
    return `${id.toString('base64url')}.${untilSeconds}.${this.mac(id, untilSeconds, memberId).toString('base64url')}`;
  }

  /** Names the browser that shows this value, where it is one of this member; null for anything else. */
  find(value: string | undefined, memberId: string, nowMs: number): string | null {
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
