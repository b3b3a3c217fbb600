/** Who somebody is, as an identity provider says: read from its claims, none of which is believed beyond its words. */
import { nameField, plainText } from '../../records/account-fields.js';
import type { ProviderConfig } from '../../config/model/admin-schema.js';
import { emailAddress } from '../../config/model/mail-values.js';

const LONGEST_NAME = 200;
/** OpenID Connect Core 1.0 section 2: at most 255 characters. */
const SUBJECT = plainText(255).min(1);

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

/** Whether a subject is one: two people whom a database cannot tell apart would be one member. */
export function isSubject(subject: unknown): boolean {
  return SUBJECT.safeParse(subject).success;
}

/** Reads who it is, of a token whose subject is one. */
export function identityOf(id: string, provider: ProviderConfig, token: Claims, userInfo: Claims): ProviderIdentity {
  // What is signed stands over what was fetched.
  const claims = { ...userInfo, ...token };
  // Whether an address is verified is said beside it: of another address it would be no word of this one.
  const { email: told, email_verified: verified } = token.email === undefined ? userInfo : token;
  const email = typeof told === 'string' && emailAddress.safeParse(told).success ? told : null;
  // A boolean (OpenID Connect Core 1.0 section 5.1). Text is no proof, whatever it says.
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
      provider.operators === undefined ? null : holds(claims[provider.operators.claim], provider.operators.value),
    authTime: typeof authTime === 'number' ? authTime : null,
  };
}

/** Whether a provider that is restricted to domains may sign this person in at all. */
export function isOfItsDomains(provider: ProviderConfig, identity: ProviderIdentity): boolean {
  return provider.domains.length === 0 || identity.isEmailVerified;
}

/** As a name may be here: what is in it stands in pages and in the head of mails. */
function nameOf(told: unknown): string | null {
  if (typeof told !== 'string') return null;
  const start = told.trim().slice(0, LONGEST_NAME);
  // The cut may have left half a character.
  const name = nameField.safeParse(start.isWellFormed() ? start : start.slice(0, -1));
  return name.success ? name.data : null;
}

function maySpeakFor({ domains }: ProviderConfig, email: string): boolean {
  return domains.length === 0 || domains.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase());
}

function holds(claim: unknown, value: string): boolean {
  return Array.isArray(claim) ? claim.includes(value) : claim === value;
}
