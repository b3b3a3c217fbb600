/** Starts a real identity provider (`oidc-provider`) in a separate process, and signs users in there. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const PROGRAM = 'test/support/identity-provider-process.mjs';
const MAX_PAGES = 12;

/** Client settings of the provider. */
export const PROVIDER_CLIENT = { clientId: 'trailgate', clientSecret: 's'.repeat(40) } as const;

/** Stores the cookies of one browser, as far as the provider's pages need them. */
class CookieJar {
  private readonly cookies = new Map<string, string>();

  async fetch(url: URL, init: RequestInit = {}): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { cookie, ...(init.headers as Record<string, string> | undefined) };
    const response = await fetch(url, { redirect: 'manual', ...init, headers });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.cookies.set(name, value);
    }
    return response;
  }
}

/** IdentityProvider is a running provider. The test must stop it. */
export class IdentityProvider {
  private constructor(
    readonly issuer: string,
    private readonly child: ChildProcess,
  ) {}

  /**
   * Starts a provider.
   * @param hasClaimsInToken whether the ID token contains claims such as the email address. If false, only the userinfo
   * endpoint returns them.
   */
  static async start({ hasClaimsInToken = false } = {}): Promise<IdentityProvider> {
    const args = [PROGRAM, ...(hasClaimsInToken ? ['--claims-in-token'] : [])];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    const [issuer] = (await once(createInterface(child.stdout), 'line')) as [string];
    return new IdentityProvider(issuer, child);
  }

  /** Sets the claims of a user. */
  async setClaims(sub: string, claims: Readonly<Record<string, unknown>>): Promise<void> {
    await fetch(`${this.issuer}/-/claims`, { method: 'POST', body: JSON.stringify({ sub, claims }) });
  }

  /** Signs a user in on all pages of the provider. Returns the URL to which the provider redirects the browser. */
  async signIn(url: string, sub: string): Promise<URL> {
    const jar = new CookieJar();
    let response = await jar.fetch(new URL(url));
    for (let page = 0; page < MAX_PAGES; page++) {
      const location = response.headers.get('location');
      if (location !== null) {
        const next = new URL(location, this.issuer);
        if (next.origin !== this.issuer) return next;
        response = await jar.fetch(next);
        continue;
      }
      response = await this.fillIn(jar, await response.text(), sub);
    }
    throw new Error('the provider did not redirect to the client');
  }

  /**
   * Stops the provider's process (SIGSTOP). The system still accepts connections, but nothing responds until `thaw`.
   */
  freeze(): void {
    this.child.kill('SIGSTOP');
  }

  thaw(): void {
    this.child.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }

  private async fillIn(jar: CookieJar, html: string, sub: string): Promise<Response> {
    const [, action] = /action="([^"]+)"/.exec(html) ?? [];
    const [, prompt] = /name="prompt" value="(\w+)"/.exec(html) ?? [];
    if (action === undefined || prompt === undefined)
      throw new Error(`unexpected page of the provider: ${html.slice(0, 500)}`);
    const fields = prompt === 'login' ? { prompt, login: sub, password: 'any' } : { prompt };
    return await jar.fetch(new URL(action, this.issuer), {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(fields),
    });
  }
}
