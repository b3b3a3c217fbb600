/** Modules of a QR code. The page draws them itself, so the secret is not sent anywhere. */
import { encode } from 'uqr';

/** Width of the light margin in modules, as the standard requires. */
const QUIET = 4;
/** Larger codes have modules too small to scan. Users type such a text instead. */
const MAX_VERSION = 20;

/** Returns rows of modules, true for dark; null if the text is too long. */
export function qrModules(text: string): readonly (readonly boolean[])[] | null {
  try {
    return encode(text, { border: QUIET, maxVersion: MAX_VERSION }).data;
  } catch {
    return null;
  }
}
