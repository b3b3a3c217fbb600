/** Defines the second factor resources of the admin API: codes of an authenticator app, and recovery codes. */
import { z } from 'zod';
import { countField } from '../openapi/fields.js';

const code = z
  .string()
  .min(1, 'must not be empty')
  .max(20)
  .meta({ description: 'Six-digit code of the authenticator app.' });
const recoveryCode = z.string().min(1, 'must not be empty').max(50);

export const secondFactorSchema = z
  .strictObject({ code: code.optional(), recovery_code: recoveryCode.optional() })
  .refine((body) => (body.code === undefined) !== (body.recovery_code === undefined), {
    error: 'must have either code or recovery_code',
  })
  .meta({ id: 'SecondFactor' });

export type SecondFactorBody = z.output<typeof secondFactorSchema>;

export const totpCodeSchema = z.strictObject({ code }).meta({ id: 'TotpCode' });

export const totpSetupSchema = z
  .object({
    secret: z
      .string()
      .max(100)
      .meta({ description: 'Secret to type into an app, in base 32. Shown only in this response.' }),
    uri: z.string().max(2_000).meta({ description: 'Secret to scan as a QR code: `otpauth://…`.' }),
  })
  .meta({ id: 'TotpSetup' });

export const recoveryCodesSchema = z
  .object({
    recovery_codes: z
      .array(z.string().max(50))
      .max(20)
      .meta({
        description:
          'Codes to use instead of the app. Each works once. Shown only in this response; they replace ' +
          'all previous codes.',
      }),
  })
  .meta({ id: 'RecoveryCodes' });

export const secondFactorStateSchema = z
  .object({
    offered: z
      .boolean()
      .meta({ description: 'Whether an app can be set up. This requires an encryption key on the installation.' }),
    totp: z.boolean().meta({ description: 'Whether an app is set up.' }),
    recovery_codes_left: countField.max(1_000),
  })
  .meta({ id: 'SecondFactorState' });
