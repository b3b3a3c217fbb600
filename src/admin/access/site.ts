/** Where people reach the panel: what its cookies are called, and which pages may speak for it. */

/** Names of this machine: a page on any of them is ours where the panel is on one of them. */
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Site knows the panel's origin. */
export class Site {
  /** @param currentOrigin without a trailing slash; known for certain once the server listens. */
  constructor(private readonly currentOrigin: () => string) {}

  get origin(): string {
    return this.currentOrigin();
  }

  get isSecure(): boolean {
    return this.origin.startsWith('https:');
  }

  /** Where a link leads: its token stands behind the `#`, which no server, proxy or Referer sees. */
  linkUrl(token: string): string {
    return `${this.origin}/link#${token}`;
  }

  /**
   * The name of a cookie. Browsers take one with `__Host-` only over HTTPS, for this host alone and the whole of it; on
   * this machine itself there is plain HTTP, where not every browser takes a Secure cookie.
   */
  cookieName(name: 'session' | 'step' | 'known'): string {
    return `${this.isSecure ? '__Host-' : ''}tg_${name}`;
  }

  /** `Set-Cookie` for a value; without an age it ends with the browser. */
  cookie(name: 'session' | 'step' | 'known', value: string, maxAgeSeconds?: number): string {
    const age = maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`;
    const secure = this.isSecure ? '; Secure' : '';
    return `${this.cookieName(name)}=${value}; Path=/${age}${secure}; HttpOnly; SameSite=Lax`;
  }

  /** `Set-Cookie` that takes a cookie away. */
  noCookie(name: 'session' | 'step' | 'known'): string {
    return this.cookie(name, '', 0);
  }

  /** The value of a cookie of ours; undefined where it is not there, and where there are two: one is of another. */
  read(header: string | undefined, name: 'session' | 'step' | 'known'): string | undefined {
    const wanted = `${this.cookieName(name)}=`;
    const found = (header ?? '').split(';').flatMap((pair) => {
      const text = pair.trim();
      return text.startsWith(wanted) ? [text.slice(wanted.length)] : [];
    });
    return found.length === 1 ? found[0] : undefined;
  }

  /** Whether a page of this origin is ours. */
  isOwnOrigin(text: string): boolean {
    if (text === this.origin) return true;
    const own = new URL(this.origin);
    const other = URL.parse(text);
    return (
      other !== null &&
      other.origin === text &&
      other.protocol === own.protocol &&
      other.port === own.port &&
      LOOPBACK_HOSTS.has(own.hostname) &&
      LOOPBACK_HOSTS.has(other.hostname)
    );
  }
}
