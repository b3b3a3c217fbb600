/** Defines the request schema and the secret format of account tokens. */
import { z } from 'zod';
import { nameField } from '../records/account-fields.js';
import { allowedIps } from '../accounts/api-key-fields.js';
import { keyChecksum, randomBase62 } from '../keys/api-key-format.js';

const PREFIX = 'tga_';
const RANDOM_LENGTH = 30;
const SECRET = /^tga_([0-9A-Za-z]{30})([0-9A-Za-z]{6})$/;

/**
 * Creates the secret of an account token: `tga_` and 36 characters. The secret has the format and checksum of an API
 * key after the prefix, so that secret scanners find it.
 */
export function createTokenSecret(): string {
  const random = randomBase62(RANDOM_LENGTH);
  return `${PREFIX}${random}${keyChecksum(random)}`;
}

/** Reports whether a text has the format of an account token and a valid checksum. */
export function isTokenSecret(text: string): boolean {
  const [, random = '', check] = SECRET.exec(text) ?? [];
  return check !== undefined && keyChecksum(random) === check;
}

/** Returns the prefix and the last four characters of a secret, by which people recognize a token. */
export function tokenHintOf(secret: string): string {
  return `${PREFIX}…${secret.slice(-4)}`;
}

export const createAccountTokenSchema = z
  .strictObject({
    name: nameField,
    role: z
      .enum(['admin', 'viewer'])
      .meta({ description: 'Role of the token. It has the permissions of a member with this role.' }),
    expires_at: z.iso
      .datetime({ offset: true, error: 'must be a time such as 2027-01-31T23:59:59+01:00' })
      .max(40)
      .meta({ description: 'When the token expires (RFC 3339), at most 366 days from now.' }),
    allowed_ips: allowedIps.default([]).meta({ description: 'Allowed IP addresses and blocks; empty: any.' }),
  })
  .meta({ id: 'CreateAccountToken' });

export type CreateAccountToken = z.output<typeof createAccountTokenSchema>;
