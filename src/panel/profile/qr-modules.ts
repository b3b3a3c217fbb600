/** Encodes a text as the modules (squares) of a QR code. The browser encodes it, so the secret is not sent anywhere. */
import { encode } from 'uqr';

/** Width of the light margin in modules. The QR code standard requires four. */
const QUIET_ZONE = 4;
/** Largest QR code version. The modules of larger codes are too small to scan; users then type the secret. */
const MAX_VERSION = 20;

/** Returns the rows of modules. True means dark. Null: the text is too long. */
export function qrModules(text: string): readonly (readonly boolean[])[] | null {
  try {
    return encode(text, { border: QUIET_ZONE, maxVersion: MAX_VERSION }).data;
  } catch {
    return null;
  }
}
