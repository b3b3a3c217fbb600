/**
 * Secrets that have to be read again and so cannot be kept as hashes: AES-256-GCM under the installation's key. Who has
 * the database alone has none of them.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Names the key that something was sealed with, so that a wrong one is told from damage. */
const KEY_NAME_LENGTH = 8;
const SEALED = /^v1\.([\w-]{8})\.([\w-]+)$/;

/** A sealed secret that cannot be opened: another key, another row, or damage. */
export class SealError extends Error {
  override readonly name = 'SealError';
}

/** SecretBox seals secrets for a row of a table and opens them there. */
export class SecretBox {
  private readonly keyName: string;

  /** @param key 32 random bytes, `parseSecretsKey`. */
  constructor(private readonly key: Buffer) {
    this.keyName = createHash('sha256').update('name\0').update(key).digest('base64url').slice(0, KEY_NAME_LENGTH);
  }

  /** @param boundTo what it belongs to, as `member:mem_…`: moved to another row it does not open. */
  seal(secret: Buffer, boundTo: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(boundTo));
    const sealed = Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
    return `v1.${this.keyName}.${sealed.toString('base64url')}`;
  }

  /** A key for one purpose: for what is looked up by a secret that is kept sealed only. */
  keyFor(purpose: string): Buffer {
    return keyFor(purpose, this.key);
  }

  /** @throws SealError where it was not sealed by this key for this row, or not at all. */
  open(sealed: string, boundTo: string): Buffer {
    const [, keyName, text = ''] = SEALED.exec(sealed) ?? [];
    if (keyName === undefined) throw new SealError('This is no sealed secret');
    if (keyName !== this.keyName) throw new SealError('This was sealed with another TRAILGATE_SECRETS_KEY');
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new SealError('This sealed secret is cut off');
    const decipher = createDecipheriv(CIPHER, this.key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(boundTo));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    } catch (cause) {
      throw new SealError('This sealed secret was changed, or belongs to another row', { cause });
    }
  }
}

/** Reads a key as the environment and the file have it: 32 bytes in base64. Null where it is none. */
export function parseSecretsKey(text: string): Buffer | null {
  const trimmed = text.trim();
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return null;
  const key = Buffer.from(trimmed, 'base64');
  return key.length === KEY_BYTES ? key : null;
}

/** Makes a key, as text. */
export function newSecretsKey(): string {
  return randomBytes(KEY_BYTES).toString('base64');
}

/** A key for one purpose out of a secret of the installation (RFC 5869): who learns one of them learns no other. */
export function keyFor(purpose: string, secret: string | Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `trailgate ${purpose}`, KEY_BYTES));
}
