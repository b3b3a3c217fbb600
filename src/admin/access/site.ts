/** Builds the panel's cookies and links, and checks `Origin` headers against the panel's origin (CSRF). */

/** Host names of the loopback interface. If the panel uses one of these names, `isOwnOrigin` accepts the others too. */
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Site builds the panel's cookies and links. The cookie `session` holds the token of the session. `step` identifies a
 * sign-in or passkey ceremony in progress. `known` marks a browser in which a member has signed in before.
 */
export class Site {
  /**
   * @param currentOrigin returns the origin without a trailing slash. The origin is final only once the server listens.
   */
  constructor(private readonly currentOrigin: () => string) {}

  get origin(): string {
    return this.currentOrigin();
  }

  get isSecure(): boolean {
    return this.origin.startsWith('https:');
  }

  /**
   * Returns the URL of a single-use link. Browsers do not send the part after `#` to servers or proxies, or in
   * `Referer`.
   */
  linkUrl(token: string): string {
    return `${this.origin}/link#${token}`;
  }

  /**
   * Returns the name of a cookie, with the prefix `__Host-` if the panel uses HTTPS. Browsers accept the prefix only
   * with `Secure`, and some browsers reject Secure cookies over plain HTTP.
   */
  cookieName(name: 'session' | 'step' | 'known'): string {
    return `${this.isSecure ? '__Host-' : ''}tg_${name}`;
  }

  /**
   * Returns the `Set-Cookie` value that sets a cookie. Without `maxAgeSeconds`, the cookie ends with the browser
   * session.
   */
  setCookieValue(name: 'session' | 'step' | 'known', value: string, maxAgeSeconds?: number): string {
    const age = maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`;
    const secure = this.isSecure ? '; Secure' : '';
    return `${this.cookieName(name)}=${value}; Path=/${age}${secure}; HttpOnly; SameSite=Lax`;
  }

  /** Returns the `Set-Cookie` value that deletes a cookie. */
  noCookie(name: 'session' | 'step' | 'known'): string {
    return this.setCookieValue(name, '', 0);
  }

  /**
   * Returns the value of a cookie. Undefined if the cookie is missing or sent twice, because one of the two could be
   * forged.
   */
  readCookie(header: string | undefined, name: 'session' | 'step' | 'known'): string | undefined {
    const wanted = `${this.cookieName(name)}=`;
    const found = (header ?? '').split(';').flatMap((pair) => {
      const text = pair.trim();
      return text.startsWith(wanted) ? [text.slice(wanted.length)] : [];
    });
    return found.length === 1 ? found[0] : undefined;
  }

  /**
   * Reports whether a value of `Origin` is the origin of the panel. All loopback names with the same scheme and port
   * count as one origin.
   */
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
