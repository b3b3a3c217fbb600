/**
 * What is known of the identity providers of the configuration: discovered at first use, kept for a while, and asked
 * for again after a failure, but not with every person who tries.
 */
import type { ClientAuth, Configuration } from 'openid-client';
import type { ProviderConfig } from '../../config/model/admin-schema.js';
import type { Clock } from '../../platform/clock.js';
import { boundedFetch } from './bounded-fetch.js';

/** Each call to a provider. */
const CALL_TIMEOUT_MS = 5_000;
const KEPT_MS = 10 * 60_000;
/** Between two tries of a provider that failed. */
const RETRY_MS = 5_000;
/** How far the provider's clock may be from ours. */
const CLOCK_TOLERANCE_SECONDS = 30;

type OpenIdClient = typeof import('openid-client');

interface Known {
  /** Compared by identity: a configuration that was read anew has new objects. */
  readonly provider: ProviderConfig;
  readonly atMs: number;
  readonly client: Promise<Configuration>;
  hasFailed: boolean;
}

/** Loads the library at its first use. */
export const loadOpenIdClient = (): Promise<OpenIdClient> => import('openid-client');

/** ProviderClients discovers providers, and keeps what it has found. */
export class ProviderClients {
  private readonly known = new Map<string, Known>();

  constructor(private readonly clock: Clock) {}

  /** The client for a provider. Rejects with what the library says where it is away, too slow, or not what it says. */
  async find(id: string, provider: ProviderConfig): Promise<Configuration> {
    const known = this.known.get(id);
    if (known !== undefined && known.provider === provider && this.isFresh(known)) return await known.client;
    const found: Known = {
      provider,
      atMs: this.clock.now(),
      client: discover(provider),
      hasFailed: false,
    };
    this.known.set(id, found);
    try {
      return await found.client;
    } catch (error) {
      found.hasFailed = true;
      throw error;
    }
  }

  private isFresh({ atMs, hasFailed }: Known): boolean {
    const ageMs = this.clock.now() - atMs;
    return ageMs >= 0 && ageMs < (hasFailed ? RETRY_MS : KEPT_MS);
  }
}

async function discover({ issuer, clientId, clientSecret }: ProviderConfig): Promise<Configuration> {
  const library = await loadOpenIdClient();
  const { allowInsecureRequests, clockTolerance, customFetch, discovery, enableNonRepudiationChecks } = library;
  // The configuration takes plain HTTP for providers on this machine alone.
  const insecure = issuer.startsWith('http:') ? [allowInsecureRequests] : [];
  const metadata = { [clockTolerance]: CLOCK_TOLERANCE_SECONDS };
  const found = await discovery(new URL(issuer), clientId, metadata, clientAuth(library, clientSecret), {
    // An ID token is believed by its signature, not by the connection that it came over.
    execute: [enableNonRepudiationChecks, ...insecure],
    timeout: CALL_TIMEOUT_MS / 1_000,
    [customFetch]: boundedFetch,
  });
  checkWay(found.serverMetadata().authorization_endpoint, issuer);
  return found;
}

/** Browsers are sent there, and the library takes whatever stands there: a script would run as the panel's own. */
function checkWay(endpoint: string | undefined, issuer: string): void {
  const way = URL.parse(endpoint ?? '');
  const isPage = way?.protocol === 'https:' || (way?.protocol === 'http:' && issuer.startsWith('http:'));
  if (!isPage) throw new Error('The authorization endpoint is no page that a browser may be sent to');
}

/** The secret goes into the header, which providers must take (RFC 6749 section 2.3.1), unless they say otherwise. */
function clientAuth({ ClientSecretBasic, ClientSecretPost }: OpenIdClient, secret: string): ClientAuth {
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authenticate = methods.includes('client_secret_basic') ? basic : post;
    return authenticate(server, client, body, headers);
  };
}
