/** Mapping of the claims of an identity provider to an identity. */
import { nameField } from '../../records/account-fields.js';
import { plainText } from '../../records/plain-text.js';
import type { ProviderConfig } from '../../config/model/admin-schema.js';
import { emailAddress } from '../../config/model/mail-values.js';

const LONGEST_NAME = 200;
/** OpenID Connect Core 1.0 section 2: at most 255 characters. */
const SUBJECT = plainText(255).min(1);

/** A person's identity at a provider. */
export interface ProviderIdentity {
  readonly provider: string;
  /** Identifies the person together with `subject`. Email addresses can be reassigned. */
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | null;
  /** Whether the provider verified the address and is allowed to speak for its domain. */
  readonly isEmailVerified: boolean;
  readonly name: string | null;
  /** Whether the provider grants operator rights; null if it has no `operators` rule. */
  readonly isOperator: boolean | null;
  /** Time of the last sign-in at the provider, in seconds since the epoch; null if not reported. */
  readonly authTime: number | null;
}

/** Claims of an ID token or of a userinfo response. */
export type Claims = Readonly<Record<string, unknown>>;

/** Reports whether a subject is valid. Longer or unprintable subjects could collide in a database column. */
export function isSubject(subject: unknown): boolean {
  return SUBJECT.safeParse(subject).success;
}

/** Reads the identity from the claims. Check the subject with `isSubject` first. */
export function identityOf(id: string, provider: ProviderConfig, token: Claims, userInfo: Claims): ProviderIdentity {
  // Signed claims take precedence over userinfo claims.
  const claims = { ...userInfo, ...token };
  // `email` and `email_verified` must come from the same source.
  const { email: told, email_verified: verified } = token.email === undefined ? userInfo : token;
  const email = typeof told === 'string' && emailAddress.safeParse(told).success ? told : null;
  // Must be a boolean (OpenID Connect Core 1.0 section 5.1). The text "true" does not count.
  const isVerified = verified === true;
  const { name, auth_time: authTime } = claims;
  return {
    provider: id,
    issuer: String(token.iss),
    subject: String(token.sub),
    email,
    isEmailVerified: email !== null && isVerified && maySpeakFor(provider, email),
    name: nameOf(name),
    isOperator:
      provider.operators === undefined
        ? null
        : claimHasValue(claims[provider.operators.claim], provider.operators.value),
    authTime: typeof authTime === 'number' ? authTime : null,
  };
}

/**
 * Reports whether the provider may sign in this person. A provider limited to domains needs a verified address in one.
 */
export function isOfItsDomains(provider: ProviderConfig, identity: ProviderIdentity): boolean {
  return provider.domains.length === 0 || identity.isEmailVerified;
}

/** Limits a name to what pages and mail headers can safely show. */
function nameOf(told: unknown): string | null {
  if (typeof told !== 'string') return null;
  const start = told.trim().slice(0, LONGEST_NAME);
  // Drop half a surrogate pair at the cut.
  const name = nameField.safeParse(start.isWellFormed() ? start : start.slice(0, -1));
  return name.success ? name.data : null;
}

function maySpeakFor({ domains }: ProviderConfig, email: string): boolean {
  return domains.length === 0 || domains.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase());
}

function claimHasValue(claim: unknown, value: string): boolean {
  return Array.isArray(claim) ? claim.includes(value) : claim === value;
}
