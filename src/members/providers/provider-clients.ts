/**
 * Discovers the configured OpenID Connect providers and caches a client for each. The cache lifetime is ten minutes. A
 * failed discovery is cached for five seconds, so that a broken provider does not slow down every sign-in.
 */
import type { ClientAuth, Configuration } from 'openid-client';
import type { ProviderConfig } from '../../config/model/admin-schema.js';
import type { Clock } from '../../platform/clock.js';
import { boundedFetch } from './bounded-fetch.js';

/** Timeout of each call to a provider. */
const CALL_TIMEOUT_MS = 5_000;
const CACHE_MS = 10 * 60_000;
/** Time after the start of a failed discovery in which callers get its error without a new discovery. */
const RETRY_MS = 5_000;
/** Accepted difference between the provider's clock and ours. */
const CLOCK_TOLERANCE_SECONDS = 30;

type OpenIdClient = typeof import('openid-client');

interface CachedClient {
  /** Configuration of the provider. Compared by reference, because a reload creates new objects. */
  readonly provider: ProviderConfig;
  readonly atMs: number;
  readonly client: Promise<Configuration>;
  hasFailed: boolean;
}

/** Imports the library `openid-client` at first use. */
export const loadOpenIdClient = (): Promise<OpenIdClient> => import('openid-client');

/** ProviderClients discovers providers and caches their clients. */
export class ProviderClients {
  private readonly cache = new Map<string, CachedClient>();

  constructor(private readonly clock: Clock) {}

  /**
   * Returns the client of a provider. Rejects if discovery fails, or if the authorization endpoint is not a web page.
   */
  async find(id: string, provider: ProviderConfig): Promise<Configuration> {
    const cached = this.cache.get(id);
    if (cached !== undefined && cached.provider === provider && this.isFresh(cached)) return await cached.client;
    const found: CachedClient = {
      provider,
      atMs: this.clock.now(),
      client: discover(provider),
      hasFailed: false,
    };
    this.cache.set(id, found);
    try {
      return await found.client;
    } catch (error) {
      found.hasFailed = true;
      throw error;
    }
  }

  private isFresh({ atMs, hasFailed }: CachedClient): boolean {
    const ageMs = this.clock.now() - atMs;
    return ageMs >= 0 && ageMs < (hasFailed ? RETRY_MS : CACHE_MS);
  }
}

async function discover({ issuer, clientId, clientSecret }: ProviderConfig): Promise<Configuration> {
  const library = await loadOpenIdClient();
  const { allowInsecureRequests, clockTolerance, customFetch, discovery, enableNonRepudiationChecks } = library;
  // The configuration allows plain HTTP only for providers on the same machine.
  const insecure = issuer.startsWith('http:') ? [allowInsecureRequests] : [];
  const metadata = { [clockTolerance]: CLOCK_TOLERANCE_SECONDS };
  const found = await discovery(new URL(issuer), clientId, metadata, clientAuth(library, clientSecret), {
    // Verify the signature of ID tokens, because TLS alone is not enough.
    execute: [enableNonRepudiationChecks, ...insecure],
    timeout: CALL_TIMEOUT_MS / 1_000,
    [customFetch]: boundedFetch,
  });
  checkAuthorizationEndpoint(found.serverMetadata().authorization_endpoint, issuer);
  return found;
}

/**
 * Throws if the authorization endpoint is not a URL to which a browser may be redirected, such as a `javascript:` URL.
 * The library does not check the scheme.
 */
function checkAuthorizationEndpoint(endpoint: string | undefined, issuer: string): void {
  const url = URL.parse(endpoint ?? '');
  const isWebUrl = url?.protocol === 'https:' || (url?.protocol === 'http:' && issuer.startsWith('http:'));
  if (!isWebUrl) throw new Error('The authorization endpoint is no page that a browser may be sent to');
}

/**
 * Returns a function that adds the client secret to a token request. HTTP Basic is preferred, because providers must
 * support it (RFC 6749 section 2.3.1). If the provider's metadata does not list HTTP Basic, the function adds the
 * secret to the body.
 */
function clientAuth({ ClientSecretBasic, ClientSecretPost }: OpenIdClient, secret: string): ClientAuth {
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authenticate = methods.includes('client_secret_basic') ? basic : post;
    return authenticate(server, client, body, headers);
  };
}
