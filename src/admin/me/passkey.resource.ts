/**
 * Defines the passkey resources of the admin API, and the WebAuthn messages in JSON (WebAuthn Level 3, section 5.1).
 */
import { z } from 'zod';
import { nameField } from '../../records/account-fields.js';
import type { Passkey } from '../../members/sign-in/passkeys.js';
import { encode } from '../openapi/encode.js';
import { idField, timeField } from '../openapi/fields.js';

/** Maximum length of a base64url value, in characters. Authenticator responses without attestation are shorter. */
const LONGEST_BASE64URL = 20_000;
const bytes = z
  .string()
  .max(LONGEST_BASE64URL)
  .regex(/^[A-Za-z0-9_-]*$/, 'must be base64url')
  .meta({ description: 'base64url.' });
const word = z.string().max(100);
const transports = z.array(word).max(20);
const extensions = z.object({}).meta({ description: 'Ignored.' });

const envelope = {
  id: bytes,
  rawId: bytes,
  type: z.literal('public-key'),
  authenticatorAttachment: word.nullish(),
  clientExtensionResults: extensions.default({}),
};

const registrationResponse = z
  .object({
    ...envelope,
    response: z.object({ clientDataJSON: bytes, attestationObject: bytes, transports: transports.optional() }),
  })
  .meta({ id: 'PasskeyRegistrationResponse' });

const authenticationResponse = z
  .object({
    ...envelope,
    response: z.object({
      clientDataJSON: bytes,
      authenticatorData: bytes,
      signature: bytes,
      userHandle: bytes.nullish(),
    }),
  })
  .meta({ id: 'PasskeyResponse' });

export const addPasskeySchema = z
  .strictObject({ name: nameField, response: registrationResponse })
  .meta({ id: 'AddPasskey' });
export type AddPasskey = z.output<typeof addPasskeySchema>;

export const renamePasskeySchema = z.strictObject({ name: nameField }).meta({ id: 'RenamePasskey' });

export const shownPasskeySchema = authenticationResponse;
export type ShownPasskey = z.output<typeof authenticationResponse>;

export const signInWithPasskeySchema = z
  .strictObject({ response: authenticationResponse })
  .meta({ id: 'SignInWithPasskey' });

const credential = z.object({ id: bytes, type: word, transports: transports.optional() });

/** Options for `navigator.credentials.get()`. Untyped, because the WebAuthn library's types omit some options. */
export const passkeyRequestSchema: z.ZodType = z
  .object({
    challenge: bytes,
    rpId: z.string().max(253),
    timeout: z.int().min(0).max(3_600_000),
    userVerification: word,
    allowCredentials: z.array(credential).max(20).optional(),
  })
  .meta({ id: 'PasskeyRequestOptions' });

/** Options for `navigator.credentials.create()`. Untyped, because the WebAuthn library's types omit some options. */
export const passkeyCreationSchema: z.ZodType = z
  .object({
    challenge: bytes,
    rp: z.object({ id: z.string().max(253), name: word }),
    user: z.object({ id: bytes, name: z.string().max(254), displayName: z.string().max(200) }),
    pubKeyCredParams: z.array(z.object({ alg: z.int().min(-65_535).max(0), type: word })).max(10),
    timeout: z.int().min(0).max(3_600_000),
    attestation: word,
    excludeCredentials: z.array(credential).max(20),
    authenticatorSelection: z.object({
      residentKey: word,
      requireResidentKey: z.boolean(),
      userVerification: word,
    }),
  })
  .meta({ id: 'PasskeyCreationOptions' });

export const passkeySchema = z
  .object({
    id: idField('psk'),
    name: z.string().max(200),
    backed_up: z
      .boolean()
      .meta({ description: 'Whether the passkey is backed up, so it survives the loss of a device.' }),
    created_at: timeField,
    last_used_at: timeField.nullable(),
  })
  .meta({ id: 'Passkey' });

export const passkeyListSchema = z.object({ data: z.array(passkeySchema).max(20) }).meta({ id: 'PasskeyList' });

/** Returns the API resource of a passkey. Times are in UTC. */
export function passkeyResource(passkey: Passkey): z.output<typeof passkeySchema> {
  return encode(passkeySchema, { ...passkey, backedUp: passkey.isBackedUp }, 'UTC');
}
