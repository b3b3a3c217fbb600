/**
 * The steps of an OAuth client and its browser, one by one, so that each can be done wrong. They work with a program
 * (`oauth-world.ts`), or with the authorization server in this process (`oauth-server-world.ts`).
 */
import { createHash, randomBytes } from 'node:crypto';

export const REDIRECT = 'http://127.0.0.1:4711/callback';
export const DAY_MS = 86_400_000;

/** Tokens as the token endpoint gives them. */
export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly scope: string;
  readonly expires_in: number;
}

/** Form is what goes to the token endpoint, or into the query of an authorization request. */
export type Form = Readonly<Record<string, string | undefined>>;

let addresses = 0;

/** A connection of its own: whichever process takes it. */
export const NO_KEEP_ALIVE = { connection: 'close' } as const;

/** Headers of somebody who has not asked before: the throttle of networks is for a test of its own. */
export const stranger = (): Record<string, string> => {
  addresses += 1;
  return { 'x-forwarded-for': `198.51.${addresses >> 8}.${addresses & 255}`, ...NO_KEEP_ALIVE };
};

/** Cookies of one browser. */
export class Browser {
  private readonly cookies = new Map<string, string>();

  async open(url: string | URL): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie, ...stranger() } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.cookies.set(name, value);
    }
    return response;
  }
}

/** A pair of PKCE. */
export function newVerifier(): { readonly verifier: string; readonly challenge: string } {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** OAuthSteps are those of one authorization server. */
export abstract class OAuthSteps {
  /** Issuer of the tokens, which is the server's origin. */
  abstract readonly issuer: string;

  /** Says yes, as an operator. @returns where the browser goes on. */
  abstract approve(id: string, accountId: string, change?: object): Promise<string>;

  /** Origin for requests. With several processes, it is that of one of them. */
  get origin(): string {
    return this.issuer;
  }

  /** Resource that the tokens are for. */
  get resource(): string {
    return `${this.issuer}/mcp`;
  }

  /** URL of the server that accepts the tokens. */
  get mcpUrl(): string {
    return `${this.origin}/mcp`;
  }

  /** Registers a client. */
  async register(metadata: object = {}): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await fetch(`${this.origin}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...stranger() },
      body: JSON.stringify({ client_name: 'Test assistant', redirect_uris: [REDIRECT], ...metadata }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** Returns the URL to which a client sends the browser. Undefined parameters are left out. */
  authorizeUrl(clientId: string, challenge: string, more: Form = {}): URL {
    const url = new URL('/authorize', this.origin);
    const form = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: REDIRECT,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      state: 'state',
      scope: 'customers:read',
      resource: this.resource,
      ...more,
    };
    for (const [name, value] of Object.entries(form)) if (value !== undefined) url.searchParams.set(name, value);
    return url;
  }

  /** Opens it: the id of the request that the panel is asked with, or the response where it comes to nothing. */
  async ask(browser: Browser, url: URL): Promise<string | Response> {
    const response = await browser.open(url);
    const [, id] = /\/oauth\/([\w-]+)$/.exec(response.headers.get('location') ?? '') ?? [];
    return id ?? response;
  }

  /** From the browser's way back to the client: the code, or what there is instead. */
  async comeBack(browser: Browser, url: string): Promise<URLSearchParams | Response> {
    const { pathname, search } = new URL(url);
    const response = await browser.open(`${this.origin}${pathname}${search}`);
    const location = response.headers.get('location');
    return location?.startsWith(REDIRECT) === true ? new URL(location).searchParams : response;
  }

  /** Asks the token endpoint. */
  async token(form: Form): Promise<{
    status: number;
    retryAfter: string | null;
    body: Tokens & { error?: string; error_description?: string };
  }> {
    const body = new URLSearchParams();
    for (const [name, value] of Object.entries(form)) if (value !== undefined) body.set(name, value);
    const response = await fetch(`${this.origin}/token`, { method: 'POST', headers: stranger(), body });
    const retryAfter = response.headers.get('retry-after');
    return { status: response.status, retryAfter, body: (await response.json()) as Tokens };
  }

  /** A client that is let in, from the beginning to its first tokens. */
  async authorize(
    accountId: string,
    change: object = {},
    asked: Form = {},
  ): Promise<Tokens & { readonly clientId: string }> {
    const { clientId, code, verifier } = await this.code(accountId, change, asked);
    const { status, body } = await this.token(this.exchange(clientId, code, verifier));
    if (status !== 200) throw new Error(`no tokens: ${JSON.stringify(body)}`);
    return { ...body, clientId };
  }

  /** Runs the steps up to the code. */
  async code(accountId: string, change: object = {}, asked: Form = {}) {
    const clientId = String((await this.register()).body['client_id']);
    const { verifier, challenge } = newVerifier();
    const browser = new Browser();
    const id = await this.ask(browser, this.authorizeUrl(clientId, challenge, asked));
    if (typeof id !== 'string') throw new Error(`not asked: ${id.status} ${await id.text()}`);
    const back = await this.comeBack(browser, await this.approve(id, accountId, change));
    if (!(back instanceof URLSearchParams)) throw new Error(`no code: ${back.status} ${await back.text()}`);
    return { clientId, code: back.get('code') ?? '', verifier, id };
  }

  exchange(clientId: string, code: string, verifier: string | undefined): Form {
    return {
      grant_type: 'authorization_code',
      client_id: clientId,
      code,
      code_verifier: verifier,
      redirect_uri: REDIRECT,
      resource: this.resource,
    };
  }

  refresh(clientId: string, refreshToken: string): Form {
    return { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken, resource: this.resource };
  }
}
