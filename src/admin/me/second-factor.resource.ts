/** Second factor resources of the admin API. */
import { z } from 'zod';
import { countField } from '../openapi/fields.js';

const code = z.string().min(1, 'must not be empty').max(20).meta({ description: 'Six digits of the app.' });
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
    secret: z.string().max(100).meta({ description: 'To be typed into an app, in base 32; shown once.' }),
    uri: z.string().max(2_000).meta({ description: 'The same to be scanned: `otpauth://…`.' }),
  })
  .meta({ id: 'TotpSetup' });

export const recoveryCodesSchema = z
  .object({
    recovery_codes: z
      .array(z.string().max(50))
      .max(20)
      .meta({ description: 'Each works once, in the place of a code; shown once. They end those from before.' }),
  })
  .meta({ id: 'RecoveryCodes' });

export const secondFactorStateSchema = z
  .object({
    offered: z.boolean().meta({ description: 'Whether an app can be set up: the installation has a key to seal it.' }),
    totp: z.boolean().meta({ description: 'Whether an app is set up.' }),
    recovery_codes_left: countField.max(1_000),
  })
  .meta({ id: 'SecondFactorState' });
