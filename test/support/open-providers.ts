/** Sign-in at identity providers on a test database, with a list of providers that a test can change. */
import type { ProviderConfig } from '../../src/config/model/admin-schema.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { ProviderClients } from '../../src/members/providers/provider-clients.js';
import { Providers, type ProviderJourney, type ProviderParts } from '../../src/members/providers/providers.js';
import { SignInSteps } from '../../src/members/sign-in/sign-in-steps.js';
import { systemClock } from '../../src/platform/clock.js';
import { PROVIDER_CLIENT } from './identity-provider.js';

export const TO_SIGN_IN: ProviderJourney = {
  purpose: 'sign_in',
  memberId: null,
  linkHash: null,
  returnTo: '/usage',
};

/** Returns the configuration of a provider. Missing fields get default values. */
export function providerConfig(issuer: string, fields: Partial<ProviderConfig> = {}): ProviderConfig {
  return {
    issuer,
    ...PROVIDER_CLIENT,
    label: 'Company',
    scopes: ['openid', 'email', 'profile'],
    domains: [],
    operators: undefined,
    ...fields,
  };
}

/** OpenProviders opens `Providers` on a database, and records the warnings that they log. */
export class OpenProviders {
  configured: Record<string, ProviderConfig> = {};
  readonly warnings: { event: string; reason: unknown }[] = [];
  readonly parts: ProviderParts;
  readonly providers: Providers;

  constructor(database: DatabaseHandle) {
    this.parts = {
      providers: () => this.configured,
      clients: new ProviderClients(systemClock),
      steps: new SignInSteps(database.db, systemClock),
      clock: systemClock,
      log: { warn: (fields: unknown) => void this.warnings.push(fields as never) } as never,
      callbackUrl: (id) => `http://localhost:8081/admin/v1/sign-in/providers/${id}/callback`,
    };
    this.providers = new Providers(this.parts);
  }

  /** Completes a sign-in at the provider `company`. `query` is the query of the callback URL. */
  async finish(stepToken: string | undefined, query: string) {
    return await this.providers.verifyCallback('company', await this.providers.consumeStep(stepToken), query);
  }
}
