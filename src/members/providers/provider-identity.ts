/** Who somebody is, as an identity provider says: read from its claims, none of which is believed beyond its words. */
import type { ProviderConfig } from '../../config/model/admin-schema.js';
import { emailAddress } from '../../config/model/mail-values.js';

const LONGEST_NAME = 200;

/** A person at a provider. */
export interface ProviderIdentity {
  readonly provider: string;
  /** With `subject` the only thing that names them: addresses change hands. */
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | null;
  /** Whether the provider says that the address is theirs, and may speak for its domain. */
  readonly isEmailVerified: boolean;
  readonly name: string | null;
  /** Whether the provider makes them an operator; null where it has no say in that. */
  readonly isOperator: boolean | null;
  /** When they last signed in at the provider, seconds; null where it does not say. */
  readonly authTime: number | null;
}

/** Claims of an ID token, and of the response of the userinfo endpoint where it was asked. */
export type Claims = Readonly<Record<string, unknown>>;

/** Reads who it is. */
export function identityOf(id: string, provider: ProviderConfig, token: Claims, userInfo: Claims): ProviderIdentity {
  // What is signed stands over what was fetched.
  const claims = { ...userInfo, ...token };
  const email = typeof claims.email === 'string' && emailAddress.safeParse(claims.email).success ? claims.email : null;
  const isVerified = claims.email_verified === true || claims.email_verified === 'true';
  const { name, auth_time: authTime } = claims;
  return {
    provider: id,
    issuer: String(token.iss),
    subject: String(token.sub),
    email,
    isEmailVerified: email !== null && isVerified && maySpeakFor(provider, email),
    name: typeof name === 'string' && name.trim() !== '' ? name.trim().slice(0, LONGEST_NAME) : null,
    isOperator:
      provider.operators === undefined ? null : holds(claims[provider.operators.claim], provider.operators.value),
    authTime: typeof authTime === 'number' ? authTime : null,
  };
}

/** Whether a provider that is restricted to domains may sign this person in at all. */
export function isOfItsDomains(provider: ProviderConfig, identity: ProviderIdentity): boolean {
  return provider.domains.length === 0 || identity.isEmailVerified;
}

function maySpeakFor({ domains }: ProviderConfig, email: string): boolean {
  return domains.length === 0 || domains.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase());
}

function holds(claim: unknown, value: string): boolean {
  return Array.isArray(claim) ? claim.includes(value) : claim === value;
}
