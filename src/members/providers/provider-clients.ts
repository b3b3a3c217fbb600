/**
 * OpenID Connect clients for the configured providers. Discovery runs at first use and is cached for ten minutes. A
 * failed discovery is cached too, for five seconds.
 */
import type { ClientAuth, Configuration } from 'openid-client';
import type { ProviderConfig } from '../../config/model/admin-schema.js';
import type { Clock } from '../../platform/clock.js';
import { boundedFetch } from './bounded-fetch.js';

/** Timeout of each call to a provider. */
const CALL_TIMEOUT_MS = 5_000;
const CACHE_MS = 10 * 60_000;
/** Time after a failed discovery in which its error is returned again. */
const RETRY_MS = 5_000;
/** Accepted difference between the provider's clock and ours. */
const CLOCK_TOLERANCE_SECONDS = 30;

type OpenIdClient = typeof import('openid-client');

interface CachedClient {
  /** Compared by reference, because a reloaded configuration has new objects. */
  readonly provider: ProviderConfig;
  readonly atMs: number;
  readonly client: Promise<Configuration>;
  hasFailed: boolean;
}

/** Imports the library at first use. */
export const loadOpenIdClient = (): Promise<OpenIdClient> => import('openid-client');

/** ProviderClients discovers providers and caches the result. */
export class ProviderClients {
  private readonly cache = new Map<string, CachedClient>();

  constructor(private readonly clock: Clock) {}

  /** Returns the client of a provider. Rejects with the library's error if discovery fails. */
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
    // Verify the signature of ID tokens. TLS alone is not enough.
    execute: [enableNonRepudiationChecks, ...insecure],
    timeout: CALL_TIMEOUT_MS / 1_000,
    [customFetch]: boundedFetch,
  });
  checkAuthorizationEndpoint(found.serverMetadata().authorization_endpoint, issuer);
  return found;
}

/**
 * Rejects `javascript:` and other URLs to which a browser must not be redirected. The library does not check the
 * scheme.
 */
function checkAuthorizationEndpoint(endpoint: string | undefined, issuer: string): void {
  const url = URL.parse(endpoint ?? '');
  const isWebUrl = url?.protocol === 'https:' || (url?.protocol === 'http:' && issuer.startsWith('http:'));
  if (!isWebUrl) throw new Error('The authorization endpoint is no page that a browser may be sent to');
}

/**
 * Sends the client secret with HTTP Basic, which providers must support (RFC 6749 section 2.3.1). If the provider's
 * metadata does not list this method, sends the secret in the body.
 */
function clientAuth({ ClientSecretBasic, ClientSecretPost }: OpenIdClient, secret: string): ClientAuth {
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authenticate = methods.includes('client_secret_basic') ? basic : post;
    return authenticate(server, client, body, headers);
  };
}
