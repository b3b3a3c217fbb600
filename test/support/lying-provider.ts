/**
 * An identity provider in this process that makes false statements, for tests of which statements the program believes.
 */
import { createHmac, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PROVIDER_CLIENT } from './identity-provider.js';

type Fields = Readonly<Record<string, unknown>>;

/** False values that replace the true ones in the provider's responses. */
export interface Lies {
  readonly metadata?: Fields;
  /** Header of the ID token. */
  readonly header?: Fields;
  readonly claims?: Fields;
  readonly userInfo?: Fields;
  /** Signature of the ID token: by a key that the provider does not publish, by the client secret, or none. */
  readonly signature?: 'another key' | 'our secret' | 'none';
}

const newKey = () => generateKeyPairSync('rsa', { modulusLength: 2_048 });
const coded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** LyingProvider is a provider on a free port. The test must close it. */
export class LyingProvider {
  lies: Lies = {};
  private nonce = '';
  private readonly key = newKey();
  private readonly anotherKey = newKey();

  private constructor(
    private readonly server: Server,
    readonly issuer: string,
  ) {
    server.on('request', ({ url }, response) => {
      const body = JSON.stringify(this.said(new URL(url ?? '', issuer).pathname));
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    });
  }

  static async start(): Promise<LyingProvider> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new LyingProvider(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  /**
   * Signs a user in without any check.
   * @returns the query string with which the provider redirects the browser back
   */
  signIn(url: string): string {
    const asked = new URL(url).searchParams;
    this.nonce = asked.get('nonce') ?? '';
    return `?${new URLSearchParams({ code: 'any', state: asked.get('state') ?? '', iss: this.issuer })}`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private said(path: string): unknown {
    const { issuer, lies } = this;
    switch (path) {
      case '/.well-known/openid-configuration':
        return {
          issuer,
          authorization_endpoint: `${issuer}/auth`,
          token_endpoint: `${issuer}/token`,
          userinfo_endpoint: `${issuer}/me`,
          jwks_uri: `${issuer}/jwks`,
          id_token_signing_alg_values_supported: ['RS256'],
          authorization_response_iss_parameter_supported: true,
          ...lies.metadata,
        };
      case '/token':
        return { access_token: 'any', token_type: 'Bearer', expires_in: 60, id_token: this.idToken() };
      case '/me':
        return { sub: 'ana', ...lies.userInfo };
      case '/jwks':
        return { keys: [{ ...this.key.publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }] };
      default:
        return {};
    }
  }

  private idToken(): string {
    const { header, claims, signature } = this.lies;
    const now = Math.floor(Date.now() / 1_000);
    const times = { iat: now, exp: now + 300 };
    const person = { sub: 'ana', email: 'ana@example.com', email_verified: true, name: 'Ana' };
    const all = { iss: this.issuer, aud: PROVIDER_CLIENT.clientId, nonce: this.nonce, ...times, ...person, ...claims };
    const text = `${coded({ alg: 'RS256', kid: 'one', ...header })}.${coded(all)}`;
    const keys: Record<string, KeyObject> = { 'another key': this.anotherKey.privateKey };
    const byKey = () => sign('sha256', Buffer.from(text), keys[signature ?? ''] ?? this.key.privateKey);
    if (signature === 'none') return `${text}.`;
    const bySecret = () => createHmac('sha256', PROVIDER_CLIENT.clientSecret).update(text).digest();
    return `${text}.${(signature === 'our secret' ? bySecret() : byKey()).toString('base64url')}`;
  }
}
