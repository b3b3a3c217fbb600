/**
 * The separate steps of an OAuth client and its browser, so that tests can vary each. The steps work with a program
 * (`oauth-world.ts`) or with an authorization server in this process (`oauth-server-world.ts`).
 */
import { createHash, randomBytes } from 'node:crypto';

export const REDIRECT = 'http://127.0.0.1:4711/callback';
export const DAY_MS = 86_400_000;

/** Response of the token endpoint. */
export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly scope: string;
  readonly expires_in: number;
}

/** Form contains the parameters of a token request or an authorization request. Undefined values are omitted. */
export type Form = Readonly<Record<string, string | undefined>>;

let addresses = 0;

/** Headers for a new connection, which any of several processes can accept. */
export const NO_KEEP_ALIVE = { connection: 'close' } as const;

/** Returns headers with a client address that was not used before, so that the throttle by network has no effect. */
export const newClientHeaders = (): Record<string, string> => {
  addresses += 1;
  return { 'x-forwarded-for': `198.51.${addresses >> 8}.${addresses & 255}`, ...NO_KEEP_ALIVE };
};

/** A browser that keeps its cookies and does not follow redirects. */
export class Browser {
  private readonly cookies = new Map<string, string>();

  async open(url: string | URL): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie, ...newClientHeaders() } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.cookies.set(name, value);
    }
    return response;
  }
}

/** Returns a new PKCE verifier with its challenge. */
export function newVerifier(): { readonly verifier: string; readonly challenge: string } {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** OAuthSteps contains the steps for one authorization server. */
export abstract class OAuthSteps {
  /** Issuer of the tokens, which is the server's origin. */
  abstract readonly issuer: string;

  /**
   * Approves a request as an operator.
   * @returns the URL where the browser continues
   */
  abstract approve(id: string, accountId: string, change?: object): Promise<string>;

  /** Origin that requests are sent to. With several processes, the origin of one of them. */
  get origin(): string {
    return this.issuer;
  }

  /** Resource identifier that the tokens are issued for. */
  get resource(): string {
    return `${this.issuer}/mcp`;
  }

  /** URL of the MCP server that accepts the tokens. */
  get mcpUrl(): string {
    return `${this.origin}/mcp`;
  }

  /**
   * Registers a client.
   * @param metadata replaces or adds metadata fields
   */
  async register(metadata: object = {}): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await fetch(`${this.origin}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...newClientHeaders() },
      body: JSON.stringify({ client_name: 'Test assistant', redirect_uris: [REDIRECT], ...metadata }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /**
   * Returns the authorization URL to which a client sends the browser.
   * @param more replaces or adds parameters; undefined removes one
   */
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

  /**
   * Opens the authorization URL. Returns the ID of the request that the panel shows, or the response if the request is
   * refused.
   */
  async ask(browser: Browser, url: URL): Promise<string | Response> {
    const response = await browser.open(url);
    const [, id] = /\/oauth\/([\w-]+)$/.exec(response.headers.get('location') ?? '') ?? [];
    return id ?? response;
  }

  /**
   * Returns the browser to the server after approval. Returns the parameters of the redirect to the client, or the
   * response if it is no such redirect.
   */
  async comeBack(browser: Browser, url: string): Promise<URLSearchParams | Response> {
    const { pathname, search } = new URL(url);
    const response = await browser.open(`${this.origin}${pathname}${search}`);
    const location = response.headers.get('location');
    return location?.startsWith(REDIRECT) === true ? new URL(location).searchParams : response;
  }

  /** Sends a request to the token endpoint. */
  async token(form: Form): Promise<{
    status: number;
    retryAfter: string | null;
    body: Tokens & { error?: string; error_description?: string };
  }> {
    const body = new URLSearchParams();
    for (const [name, value] of Object.entries(form)) if (value !== undefined) body.set(name, value);
    const response = await fetch(`${this.origin}/token`, { method: 'POST', headers: newClientHeaders(), body });
    const retryAfter = response.headers.get('retry-after');
    return { status: response.status, retryAfter, body: (await response.json()) as Tokens };
  }

  /**
   * Runs all steps of an approved client, up to its first tokens.
   * @throws Error if a step fails
   */
  async authorize(
    accountId: string,
    change: object = {},
    asked: Form = {},
  ): Promise<Tokens & { readonly clientId: string }> {
    const { clientId, code, verifier } = await this.code(accountId, change, asked);
    const { status, body } = await this.token(this.exchange(clientId, code, verifier));
    if (status !== 200) throw new Error(`no tokens received: ${JSON.stringify(body)}`);
    return { ...body, clientId };
  }

  /**
   * Runs the steps up to the authorization code.
   * @throws Error if a step fails
   */
  async code(accountId: string, change: object = {}, asked: Form = {}) {
    const clientId = String((await this.register()).body['client_id']);
    const { verifier, challenge } = newVerifier();
    const browser = new Browser();
    const id = await this.ask(browser, this.authorizeUrl(clientId, challenge, asked));
    if (typeof id !== 'string')
      throw new Error(`the panel was not asked for approval: ${id.status} ${await id.text()}`);
    const back = await this.comeBack(browser, await this.approve(id, accountId, change));
    if (!(back instanceof URLSearchParams))
      throw new Error(`no authorization code: ${back.status} ${await back.text()}`);
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
