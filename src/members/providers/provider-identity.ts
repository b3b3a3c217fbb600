/**
 * Converts the claims of an identity provider to an identity. The configuration limits which claims are trusted, for
 * example to the domains of email addresses.
 */
import { nameField } from '../../records/account-fields.js';
import { plainText } from '../../records/plain-text.js';
import type { ProviderConfig } from '../../config/model/admin-schema.js';
import { emailAddress } from '../../config/model/mail-values.js';

const LONGEST_NAME = 200;
/** Schema of the subject claim: at most 255 characters (OpenID Connect Core 1.0 section 2). */
const SUBJECT = plainText(255).min(1);

/** ProviderIdentity is a person's identity at an identity provider, as the claims of one sign-in describe it. */
export interface ProviderIdentity {
  readonly provider: string;
  /**
   * Issuer of the ID token. Issuer and `subject` together identify the person. Email addresses do not, because they can
   * be reassigned.
   */
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | null;
  /**
   * Whether the provider verified the address, and the configuration allows the provider to verify addresses of this
   * domain.
   */
  readonly isEmailVerified: boolean;
  readonly name: string | null;
  /** Whether the claims grant operator rights. Null if the provider has no `operators` rule. */
  readonly isOperator: boolean | null;
  /**
   * Time of the last sign-in at the provider, in seconds since the epoch. Null if the provider did not report the time.
   */
  readonly authTime: number | null;
}

/** Claims holds the claims of an ID token or of a userinfo response. */
export type Claims = Readonly<Record<string, unknown>>;

/**
 * Reports whether a subject claim is valid. Longer or unprintable subjects of two people could become equal in a
 * database column.
 */
export function isSubject(subject: unknown): boolean {
  return SUBJECT.safeParse(subject).success;
}

/**
 * Reads the identity from the claims. Check the subject with `isSubject` first. Ignores invalid names and addresses.
 */
export function identityOf(id: string, provider: ProviderConfig, idToken: Claims, userInfo: Claims): ProviderIdentity {
  // Signed claims take precedence over userinfo claims.
  const claims = { ...userInfo, ...idToken };
  // `email` and `email_verified` must come from the same source.
  const { email: claimedEmail, email_verified: verified } = idToken.email === undefined ? userInfo : idToken;
  const email = typeof claimedEmail === 'string' && emailAddress.safeParse(claimedEmail).success ? claimedEmail : null;
  // `email_verified` must be a boolean (OpenID Connect Core 1.0 section 5.1). The text "true" does not count.
  const isVerified = verified === true;
  const { name, auth_time: authTime } = claims;
  return {
    provider: id,
    issuer: String(idToken.iss),
    subject: String(idToken.sub),
    email,
    isEmailVerified: email !== null && isVerified && mayVerify(provider, email),
    name: nameOf(name),
    isOperator:
      provider.operators === undefined
        ? null
        : claimHasValue(claims[provider.operators.claim], provider.operators.value),
    authTime: typeof authTime === 'number' ? authTime : null,
  };
}

/**
 * Reports whether the provider may sign in this person. A provider that is limited to domains may sign in only people
 * with a verified address in one of these domains.
 */
export function isAllowedDomain(provider: ProviderConfig, identity: ProviderIdentity): boolean {
  return provider.domains.length === 0 || identity.isEmailVerified;
}

/**
 * Returns the claimed name, cut to its maximum length. Returns null if pages and mail headers could not safely show the
 * name.
 */
function nameOf(claim: unknown): string | null {
  if (typeof claim !== 'string') return null;
  const start = claim.trim().slice(0, LONGEST_NAME);
  // Remove half of a surrogate pair at the cut.
  const name = nameField.safeParse(start.isWellFormed() ? start : start.slice(0, -1));
  return name.success ? name.data : null;
}

function mayVerify({ domains }: ProviderConfig, email: string): boolean {
  return domains.length === 0 || domains.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase());
}

function claimHasValue(claim: unknown, value: string): boolean {
  return Array.isArray(claim) ? claim.includes(value) : claim === value;
}
