/**
 * Encrypts secrets that must be readable again and so cannot be hashed. Uses AES-256-GCM with the installation's key.
 * The database alone does not reveal the secrets.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Length of the key name in encrypted texts. The name distinguishes a wrong key from damaged data. */
const KEY_NAME_LENGTH = 8;
const SEALED = /^v1\.([\w-]{8})\.([\w-]+)$/;

/**
 * SealError says that an encrypted secret cannot be decrypted, because of a wrong key, the wrong row, or damaged data.
 */
export class SealError extends Error {
  override readonly name = 'SealError';
}

/** SecretBox encrypts and decrypts secrets. Each encrypted secret is bound to a database row. */
export class SecretBox {
  private readonly keyName: string;

  /** @param key 32 random bytes; see `parseSecretsKey`. */
  constructor(private readonly key: Buffer) {
    this.keyName = createHash('sha256').update('name\0').update(key).digest('base64url').slice(0, KEY_NAME_LENGTH);
  }

  /**
   * Encrypts a secret.
   * @param boundTo row that the secret belongs to, such as `member:mem_…`. `open` for another row fails.
   */
  seal(secret: Buffer, boundTo: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(boundTo));
    const sealed = Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
    return `v1.${this.keyName}.${sealed.toString('base64url')}`;
  }

  /** Derives a key for one purpose, for example to find a row by a secret that is stored encrypted. */
  keyFor(purpose: string): Buffer {
    return keyFor(purpose, this.key);
  }

  /**
   * Decrypts a secret.
   * @throws SealError if the secret was not encrypted with this key for this row, or is damaged.
   */
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

/** Parses a key of 32 bytes in Base64. Returns null if the text is not valid. */
export function parseSecretsKey(text: string): Buffer | null {
  const trimmed = text.trim();
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return null;
  const key = Buffer.from(trimmed, 'base64');
  return key.length === KEY_BYTES ? key : null;
}

export function newSecretsKey(): string {
  return randomBytes(KEY_BYTES).toString('base64');
}

/**
 * Derives a key for one purpose from a secret of the installation (HKDF, RFC 5869). One derived key does not reveal
 * another.
 */
export function keyFor(purpose: string, secret: string | Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `trailgate ${purpose}`, KEY_BYTES));
}
