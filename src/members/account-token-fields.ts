/** What an account's token may be given from outside, and what its secret looks like. */
import { z } from 'zod';
import { nameField } from '../records/account-fields.js';
import { allowedIps } from '../accounts/api-key-fields.js';
import { checksum, randomBase62 } from '../keys/api-key-format.js';

const PREFIX = 'tga_';
const RANDOM_LENGTH = 30;
const SECRET = /^tga_([0-9A-Za-z]{30})([0-9A-Za-z]{6})$/;

/** A new secret, `tga_…`, in the form of an API key's, so that scanners of secrets know it. */
export function createTokenSecret(): string {
  const random = randomBase62(RANDOM_LENGTH);
  return `${PREFIX}${random}${checksum(random)}`;
}

/** Whether a text has the form of such a secret and its checksum fits. */
export function isTokenSecret(text: string): boolean {
  const [, random = '', check] = SECRET.exec(text) ?? [];
  return check !== undefined && checksum(random) === check;
}

/** What people recognise a token by. */
export function tokenHintOf(secret: string): string {
  return `${PREFIX}…${secret.slice(-4)}`;
}

export const createAccountTokenSchema = z
  .strictObject({
    name: nameField,
    role: z.enum(['admin', 'viewer']).meta({ description: 'What a program may do with it, as a member of that role.' }),
    expires_at: z.iso
      .datetime({ offset: true, error: 'must be a time such as 2027-01-31T23:59:59+01:00' })
      .max(40)
      .meta({ description: 'When the token stops working (RFC 3339), at most 366 days from now.' }),
    allowed_ips: allowedIps.default([]).meta({ description: 'Addresses and blocks that may use it; empty: any.' }),
  })
  .meta({ id: 'CreateAccountToken' });

export type CreateAccountToken = z.output<typeof createAccountTokenSchema>;
