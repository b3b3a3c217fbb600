/**
 * Starts and verifies sign-ins at OpenID Connect providers, with authorization code flow, PKCE, `state` and `nonce`.
 * The result is a verified identity. `provider-sign-in.ts` and `provider-invitations.ts` decide what happens with the
 * identity.
 */
import type { Configuration, IDToken } from 'openid-client';
import type { ProviderConfig } from '../../config/model/admin-schema.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import { Problem } from '../../platform/problems/errors.js';
import { loadOpenIdClient, type ProviderClients } from './provider-clients.js';
import { identityOf, isAllowedDomain, isSubject, type Claims, type ProviderIdentity } from './provider-identity.js';
import { returnPath } from '../sign-in/return-to.js';
import type { CreatedStep, SignInStep, SignInSteps, StepData } from '../sign-in/sign-in-steps.js';

/** Accepted clock difference when a sign-in at the provider must be fresh. */
const CLOCK_TOLERANCE_MS = 30_000;

/**
 * Error codes of the library for an invalid callback of the browser. `isRefusal` also counts the error `invalid_grant`
 * of the token endpoint. All other errors are faults of the provider or the network.
 */
const CALLBACK_ERRORS: ReadonlySet<unknown> = new Set([
  'OAUTH_AUTHORIZATION_RESPONSE_ERROR',
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
]);
/** Maximum number of nested causes in a logged error, such as `fetch failed: connect ECONNREFUSED …`. */
const MAX_CAUSES = 3;
/** OAuth error codes for an outage of the provider (RFC 6749 section 4.1.2.1). */
const OUTAGES: ReadonlySet<unknown> = new Set(['server_error', 'temporarily_unavailable']);

/** ProviderPurpose is the reason for a sign-in at a provider. */
export type ProviderPurpose = StepData['oidc']['purpose'];

/** ProviderJourney holds the parameters of a sign-in at a provider. */
export interface ProviderJourney {
  readonly purpose: ProviderPurpose;
  /** ID of the signed-in member. Null if the purpose needs no signed-in member. */
  readonly memberId: string | null;
  /** Hash of the invitation link that the sign-in accepts. Null for other purposes. */
  readonly linkHash: string | null;
  readonly returnTo: string | undefined;
}

/** ProviderArrival is the result of a completed sign-in at a provider. `returnTo` is a path of the panel. */
export interface ProviderArrival extends Omit<ProviderJourney, 'returnTo'> {
  readonly identity: ProviderIdentity;
  readonly returnTo: string;
}

/** ProviderParts holds the dependencies of `Providers`. */
export interface ProviderParts {
  /** Returns the providers in the current configuration. */
  readonly providers: () => Readonly<Record<string, ProviderConfig>>;
  readonly clients: ProviderClients;
  readonly steps: SignInSteps;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  /** Returns the redirect URI for a provider. */
  readonly callbackUrl: (provider: string) => string;
}

/** Providers starts and completes sign-ins at identity providers. */
export class Providers {
  constructor(private readonly parts: ProviderParts) {}

  /** Lists the providers for the sign-in page. */
  list(): readonly { readonly id: string; readonly label: string }[] {
    return Object.entries(this.parts.providers()).map(([id, { label }]) => ({ id, label }));
  }

  /** Returns the ID of the configured provider with this issuer. Returns null if no provider has the issuer. */
  named(issuer: string): string | null {
    const found = Object.entries(this.parts.providers()).find(([, provider]) => provider.issuer === issuer);
    return found?.[0] ?? null;
  }

  /** Returns the issuer of a provider. @throws Problem `resource_not_found` */
  issuerOf(id: string): string {
    return this.providerOf(id).issuer;
  }

  /**
   * Starts a sign-in at a provider. Returns the URL to which the caller redirects the browser, and the sign-in step.
   * @throws Problem `resource_not_found`; `identity_provider_unavailable` if discovery fails
   */
  async beginSignIn(
    id: string,
    journey: ProviderJourney,
  ): Promise<{ readonly url: string; readonly step: CreatedStep }> {
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
      // A confirmation needs a fresh sign-in, not an existing session at the provider.
      ...(journey.purpose === 'confirm' ? { prompt: 'login', max_age: '0' } : {}),
    });
    const { purpose, linkHash, memberId } = journey;
    const step = await this.parts.steps.createStep('oidc', memberId, {
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
   * Consumes the sign-in step of a browser that returns from a provider.
   * @throws Problem `sign_in_ended` if the step has expired or the browser has no step
   */
  async consumeStep(stepToken: string | undefined): Promise<SignInStep<'oidc'>> {
    return await this.parts.steps.consumeStep(stepToken, 'oidc');
  }

  /**
   * Verifies the provider's callback and returns the identity.
   * @param query query string of the callback, unchanged
   * @throws Problem `invalid_credentials` if the state, nonce, issuer or code is wrong, or a confirmation was not fresh
   * @throws Problem `identity_unknown` for a domain that the provider may not sign in
   * @throws Problem `identity_provider_unavailable`; `resource_not_found` if the provider is no longer configured
   */
  async verifyCallback(id: string, { memberId, data }: SignInStep<'oidc'>, query: string): Promise<ProviderArrival> {
    // Reject callbacks of another provider than the one with which the step began (mix-up attack).
    if (data.provider !== id) throw rejected();
    const provider = this.providerOf(id);
    const client = await this.clientOf(id, provider);
    const [token, userInfo] = await this.claimsOf(id, client, data, query, neededClaims(provider));
    if (!isSubject(token.sub)) throw this.logRefusal(id, new Error('The subject of the ID token is none'));
    const identity = identityOf(id, provider, token, userInfo);
    const { purpose, linkHash, returnTo, startedAt } = data;
    if (purpose === 'confirm' && (identity.authTime ?? 0) * 1_000 < startedAt - CLOCK_TOLERANCE_MS) throw rejected();
    if (!isAllowedDomain(provider, identity)) {
      throw new Problem('identity_unknown', {
        detail: 'This provider can only sign in addresses of its configured domains.',
      });
    }
    return { identity, purpose, memberId, linkHash, returnTo };
  }

  /** Returns the client of a provider. Converts every failure to `identity_provider_unavailable`. */
  private async clientOf(id: string, provider: ProviderConfig): Promise<Configuration> {
    try {
      return await this.parts.clients.find(id, provider);
    } catch (cause) {
      throw this.logFailure(id, cause);
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
      // Strict providers return most claims only from the userinfo endpoint.
      const hasAllNeeded = needed.every((claim) => claims[claim] !== undefined);
      const isComplete = hasAllNeeded || client.serverMetadata().userinfo_endpoint === undefined;
      return [claims, isComplete ? {} : await fetchUserInfo(client, tokens.access_token, claims.sub)];
    } catch (cause) {
      throw isRefusal(cause) ? this.logRefusal(id, cause) : this.logFailure(id, cause);
    }
  }

  private providerOf(id: string): ProviderConfig {
    const providers = this.parts.providers();
    const provider = Object.hasOwn(providers, id) ? providers[id] : undefined;
    if (provider === undefined)
      throw new Problem('resource_not_found', { detail: 'Not found. No provider has this name.' });
    return provider;
  }

  /** Logs why a sign-in is refused. Returns the error for the caller to throw, which does not reveal the cause. */
  private logRefusal(id: string, cause: unknown): Problem {
    const fields = { event: 'identity_refused', ...errorFields(id, cause) };
    this.parts.log.warn(fields, 'A sign-in from an identity provider was refused');
    return rejected();
  }

  /** Logs why a provider cannot be used. Returns the error for the caller to throw. */
  private logFailure(id: string, cause: unknown): Problem {
    const fields = { event: 'identity_provider_failed', ...errorFields(id, cause) };
    this.parts.log.warn(fields, 'An identity provider cannot be used');
    return new Problem('identity_provider_unavailable', {
      detail: 'The identity provider is unavailable or sent an invalid response. Sign in another way.',
      headers: ['Retry-After', '5'],
      cause,
    });
  }
}

/**
 * Returns the names of the claims that a sign-in needs. If the ID token lacks one of them, the userinfo endpoint is
 * queried.
 */
function neededClaims({ operators }: ProviderConfig): readonly string[] {
  return ['email', ...(operators === undefined ? [] : [operators.claim])];
}

/** Returns the log fields of an error: its codes and messages, without the request or the response. */
function errorFields(provider: string, fault: unknown) {
  const { code, error } = fault as { code?: unknown; error?: unknown };
  const details: string[] = [];
  for (let cause = fault; cause instanceof Error && details.length < MAX_CAUSES; cause = cause.cause) {
    details.push(cause.message);
  }
  return { provider, reason: code ?? null, error: error ?? null, detail: details.join(': ') };
}

/** Reports whether the browser's callback caused the error, rather than the provider or the network. */
function isRefusal(fault: unknown): boolean {
  const { code, error } = fault as { code?: unknown; error?: unknown };
  if (code === 'OAUTH_RESPONSE_BODY_ERROR') return error === 'invalid_grant';
  return CALLBACK_ERRORS.has(code) && !OUTAGES.has(error);
}

function rejected(): Problem {
  return new Problem('invalid_credentials', {
    detail: 'The identity provider rejected the sign-in, or its response belongs to another one. Start over.',
  });
}
