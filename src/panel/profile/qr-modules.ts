/** The modules of a QR code. The page itself draws them, so a secret is sent nowhere to be scanned. */
import { encode } from 'uqr';

/** Modules of light around it, as the standard asks. */
const QUIET = 4;
/** A larger code has modules too small to scan: such a text is typed. */
const MAX_VERSION = 20;

/** Returns the rows of modules, dark ones true; null for a text that is too long. */
export function qrModules(text: string): readonly (readonly boolean[])[] | null {
  try {
    return encode(text, { border: QUIET, maxVersion: MAX_VERSION }).data;
  } catch {
    return null;
  }
}
