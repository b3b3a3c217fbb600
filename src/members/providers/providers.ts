/**
 * Signing in at an identity provider (OpenID Connect, authorization code with PKCE, `state` and `nonce`): there and
 * back. Who came back is an issuer and a subject; what that is worth here, others decide.
 */
import type { Configuration, IDToken } from 'openid-client';
import type { ProviderConfig } from '../../config/model/admin-schema.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import { Problem } from '../../platform/problems/errors.js';
import { loadOpenIdClient, type ProviderClients } from './provider-clients.js';
import { identityOf, isOfItsDomains, isSubject, type Claims, type ProviderIdentity } from './provider-identity.js';
import { returnPath } from '../sign-in/return-to.js';
import type { BegunStep, SignInStep, SignInSteps, StepData } from '../sign-in/steps.js';

/** How far clocks may be apart when somebody has to have signed in there just now. */
const CLOCK_TOLERANCE_MS = 30_000;

/** Faults of what came back with the browser; any other is the provider's, or of the way to it. */
const REFUSALS: ReadonlySet<unknown> = new Set([
  'OAUTH_AUTHORIZATION_RESPONSE_ERROR',
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
]);
/** How deep the cause of a fault is told: `fetch failed: connect ECONNREFUSED …`. */
const MOST_CAUSES = 3;
/** Errors that say that the provider is not well, RFC 6749 section 4.1.2.1. */
const ILL: ReadonlySet<unknown> = new Set(['server_error', 'temporarily_unavailable']);

/** Why somebody is sent to a provider. */
export type ProviderPurpose = StepData['oidc']['purpose'];

/** A way to a provider. */
export interface ProviderJourney {
  readonly purpose: ProviderPurpose;
  /** Who is signed in, where the purpose needs somebody. */
  readonly memberId: string | null;
  /** Of the invitation that is taken, as a hash. */
  readonly linkHash: string | null;
  readonly returnTo: string | undefined;
}

/** Somebody who has come back. */
export interface ProviderArrival extends Omit<ProviderJourney, 'returnTo'> {
  readonly identity: ProviderIdentity;
  readonly returnTo: string;
}

/** What signing in at providers stands on. */
export interface ProviderParts {
  /** Of the configuration in force. */
  readonly providers: () => Readonly<Record<string, ProviderConfig>>;
  readonly clients: ProviderClients;
  readonly steps: SignInSteps;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  /** Where a provider sends the browser back to. */
  readonly callbackUrl: (provider: string) => string;
}

/** Providers sends people to identity providers and takes them back. */
export class Providers {
  constructor(private readonly parts: ProviderParts) {}

  /** What a sign-in page offers. */
  list(): readonly { readonly id: string; readonly label: string }[] {
    return Object.entries(this.parts.providers()).map(([id, { label }]) => ({ id, label }));
  }

  /** The provider of an issuer; null where none is configured. */
  named(issuer: string): string | null {
    const found = Object.entries(this.parts.providers()).find(([, provider]) => provider.issuer === issuer);
    return found?.[0] ?? null;
  }

  /** The issuer that a provider is. @throws Problem `resource_not_found` without such a provider. */
  issuerOf(id: string): string {
    return this.providerOf(id).issuer;
  }

  /**
   * Begins a sign-in at a provider.
   * @throws Problem `resource_not_found` without such a provider, `identity_provider_unavailable` where it is away.
   */
  async begin(id: string, journey: ProviderJourney): Promise<{ readonly url: string; readonly step: BegunStep }> {
    const provider = this.providerOf(id);
    const library = await loadOpenIdClient();
    const client = await this.clientOf(id, provider);
    const codeVerifier = library.randomPKCECodeVerifier();
    const [state, nonce] = [library.randomState(), library.randomNonce()];
    const url = library.buildAuthorizationUrl(client, {
      redirect_uri: this.parts.callbackUrl(id),
      scope: provider.scopes.join(' '),
      code_challenge: await library.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
      state,
      nonce,
      // Who shows that it is them has to do so now, not to have done so this morning.
      ...(journey.purpose === 'confirm' ? { prompt: 'login', max_age: '0' } : {}),
    });
    const { purpose, linkHash, memberId } = journey;
    const step = await this.parts.steps.begin('oidc', memberId, {
      provider: id,
      state,
      nonce,
      codeVerifier,
      purpose,
      linkHash,
      returnTo: returnPath(journey.returnTo),
      startedAt: this.parts.clock.now(),
    });
    return { url: url.href, step };
  }

  /**
   * Takes the step of who comes back, which works once.
   * @throws Problem `sign_in_ended` where it is over or of another browser.
   */
  async takeStep(stepToken: string | undefined): Promise<SignInStep<'oidc'>> {
    return await this.parts.steps.take(stepToken, 'oidc');
  }

  /**
   * Takes back who comes from a provider.
   * @param query of the callback, as it came.
   * @throws Problem `invalid_credentials` for what does not fit the step: state, nonce, issuer, a code that was used;
   * `identity_unknown` for a domain that the provider may not speak for; `identity_provider_unavailable`.
   */
  async finish(id: string, { memberId, data }: SignInStep<'oidc'>, query: string): Promise<ProviderArrival> {
    // Two providers and one browser: what one of them says is no word of the other's.
    if (data.provider !== id) throw refused();
    const provider = this.providerOf(id);
    const client = await this.clientOf(id, provider);
    const [token, userInfo] = await this.claimsOf(id, client, data, query, neededClaims(provider));
    if (!isSubject(token.sub)) throw this.refused(id, new Error('The subject of the ID token is none'));
    const identity = identityOf(id, provider, token, userInfo);
    const { purpose, linkHash, returnTo, startedAt } = data;
    if (purpose === 'confirm' && (identity.authTime ?? 0) * 1_000 < startedAt - CLOCK_TOLERANCE_MS) throw refused();
    if (!isOfItsDomains(provider, identity)) {
      throw new Problem('identity_unknown', { detail: 'This provider signs in people of its own domains only.' });
    }
    return { identity, purpose, memberId, linkHash, returnTo };
  }

  /** What the provider says of itself: whatever is wrong with that is its fault. */
  private async clientOf(id: string, provider: ProviderConfig): Promise<Configuration> {
    try {
      return await this.parts.clients.find(id, provider);
    } catch (cause) {
      throw this.failed(id, cause);
    }
  }

  private async claimsOf(
    id: string,
    client: Configuration,
    data: StepData['oidc'],
    query: string,
    needed: readonly string[],
  ): Promise<readonly [IDToken, Claims]> {
    const { authorizationCodeGrant, fetchUserInfo } = await loadOpenIdClient();
    const callback = new URL(this.parts.callbackUrl(id));
    callback.search = query;
    try {
      const tokens = await authorizationCodeGrant(client, callback, {
        pkceCodeVerifier: data.codeVerifier,
        expectedState: data.state,
        expectedNonce: data.nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) throw new Error('The response has no ID token');
      // Providers that go by the letter tell more than the subject at their userinfo endpoint only.
      const isTold = needed.every((claim) => claims[claim] !== undefined);
      const isWhole = isTold || client.serverMetadata().userinfo_endpoint === undefined;
      return [claims, isWhole ? {} : await fetchUserInfo(client, tokens.access_token, claims.sub)];
    } catch (cause) {
      throw isRefusal(cause) ? this.refused(id, cause) : this.failed(id, cause);
    }
  }

  private providerOf(id: string): ProviderConfig {
    const providers = this.parts.providers();
    const provider = Object.hasOwn(providers, id) ? providers[id] : undefined;
    if (provider === undefined) throw new Problem('resource_not_found', { detail: 'There is no such provider.' });
    return provider;
  }

  private refused(id: string, cause: unknown): Problem {
    const fields = { event: 'identity_refused', ...wordsOf(id, cause) };
    this.parts.log.warn(fields, 'A sign-in from an identity provider was refused');
    return refused();
  }

  private failed(id: string, cause: unknown): Problem {
    const fields = { event: 'identity_provider_failed', ...wordsOf(id, cause) };
    this.parts.log.warn(fields, 'An identity provider cannot be used');
    return new Problem('identity_provider_unavailable', {
      detail: 'The identity provider cannot be reached, or does not respond as it should. Sign in another way.',
      headers: ['Retry-After', '5'],
      cause,
    });
  }
}

/** Claims without which a provider has not said all that it may. */
function neededClaims({ operators }: ProviderConfig): readonly string[] {
  return ['email', ...(operators === undefined ? [] : [operators.claim])];
}

/** What the library says of a fault, and nothing that was sent. */
function wordsOf(provider: string, fault: unknown) {
  const { code, error } = fault as { code?: unknown; error?: unknown };
  const details: string[] = [];
  for (let each = fault; each instanceof Error && details.length < MOST_CAUSES; each = each.cause) {
    details.push(each.message);
  }
  return { provider, reason: code ?? null, error: error ?? null, detail: details.join(': ') };
}

/** Whether the fault is in what came back with the browser. */
function isRefusal(fault: unknown): boolean {
  const { code, error } = fault as { code?: unknown; error?: unknown };
  if (code === 'OAUTH_RESPONSE_BODY_ERROR') return error === 'invalid_grant';
  return REFUSALS.has(code) && !ILL.has(error);
}

function refused(): Problem {
  return new Problem('invalid_credentials', {
    detail: 'The identity provider did not sign you in, or what it said does not belong to this sign-in. Begin again.',
  });
}
