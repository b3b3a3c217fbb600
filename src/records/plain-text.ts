/** Schema of one line of text, for names and IDs that clients send. */
import { z } from 'zod';

/**
 * Pattern of text without control characters. Not written as \P{Cc}, because not every validator of the admin API's
 * description supports Unicode properties.
 */
const PLAIN_TEXT = /^[^\u0000-\u001f\u007f-\u009f]*$/;

/** Reports whether a text has no lone surrogates. Databases cannot store lone surrogates, so the text would change. */
export const isWellFormed = (text: string): boolean => text.isWellFormed();
export const NOT_WELL_FORMED = 'must not contain half a character (a lone surrogate)';

/** Returns the schema of one line of text without control characters. */
export function plainText(maxLength: number): z.ZodString {
  return z
    .string()
    .max(maxLength)
    .regex(PLAIN_TEXT, 'must not contain control characters')
    .refine(isWellFormed, NOT_WELL_FORMED);
}
