/** Derives the IDs of linked identities, which URL paths and the audit log contain. */
import { hash } from 'node:crypto';

/** IdentityName holds the issuer and subject that identify a person at an identity provider. */
export interface IdentityName {
  readonly issuer: string;
  readonly subject: string;
}

const ID_LENGTH = 25;
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * Derives the ID of an identity from a hash of its issuer and subject, so that the database needs no column for the ID.
 */
export function identityId({ issuer, subject }: IdentityName): string {
  const digest = hash('sha256', `${issuer}\0${subject}`, 'buffer');
  return `idn_${Array.from(digest.subarray(0, ID_LENGTH), (byte) => ALPHABET[byte & 31]).join('')}`;
}
