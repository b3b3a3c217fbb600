/**
 * Encodes a text as the modules (squares) of a QR code. The browser does the encoding, so that the secret is not sent
 * to another service.
 */
import { encode } from 'uqr';

/** Width of the light margin, in modules. The QR code standard requires four. */
const QUIET_ZONE = 4;
/** Largest QR code version. Larger codes have modules that are too small to scan, so users type the secret instead. */
const MAX_VERSION = 20;

/** Returns the rows of modules, in which true means dark. Null if the text is too long. */
export function qrModules(text: string): readonly (readonly boolean[])[] | null {
  try {
    return encode(text, { border: QUIET_ZONE, maxVersion: MAX_VERSION }).data;
  } catch {
    return null;
  }
}
