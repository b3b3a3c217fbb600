/** A passkey in software. Tests choose the contents of its responses, such as a wrong origin, challenge or counter. */
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';

/** Flags of the authenticator data (WebAuthn section 6.1). `attested` means that credential data follows. */
const FLAGS = { present: 0x01, verified: 0x04, attested: 0x40 } as const;

/** Contents of a response. */
export interface Claims {
  readonly challenge: string;
  readonly origin: string;
  readonly rpId: string;
  readonly isVerified?: boolean;
  readonly counter?: number;
  readonly type?: string;
  readonly userHandle?: string;
}

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();

/**
 * Encodes a value as CBOR (RFC 8949). Supports only integers, byte strings, text and maps, with values and lengths
 * below 65,536.
 */
function cbor(value: number | string | Buffer | Map<number | string, unknown>): Buffer {
  const head = (major: number, length: number): Buffer => {
    if (length < 24) return Buffer.from([(major << 5) | length]);
    if (length < 256) return Buffer.from([(major << 5) | 24, length]);
    return Buffer.from([(major << 5) | 25, length >> 8, length & 255]);
  };
  if (typeof value === 'number') return value >= 0 ? head(0, value) : negative(head, -1 - value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  const entries = [...value].flatMap(([key, item]) => [cbor(key), cbor(item as Parameters<typeof cbor>[0])]);
  return Buffer.concat([head(5, value.size), ...entries]);
}

const negative = (head: (major: number, length: number) => Buffer, number: number) => head(1, number);

/** Authenticator is a passkey with one ES256 key. */
export class Authenticator {
  readonly credentialId = randomBytes(32).toString('base64url');
  private readonly privateKey: KeyObject;
  private readonly coseKey: Buffer;

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.privateKey = privateKey;
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    const fields = new Map<number, number | Buffer>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x, 'base64url')],
      [-3, Buffer.from(y, 'base64url')],
    ]);
    this.coseKey = cbor(fields);
  }

  /** Returns the response that a browser gives to `navigator.credentials.create()`. */
  register(claims: Claims): RegistrationResponseJSON {
    const id = Buffer.from(this.credentialId, 'base64url');
    const length = Buffer.from([id.length >> 8, id.length & 255]);
    const attested = Buffer.concat([Buffer.alloc(16), length, id, this.coseKey]);
    const authData = Buffer.concat([authenticatorData(claims, FLAGS.attested), attested]);
    const attestation = new Map<string, unknown>([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', authData],
    ]);
    return {
      ...this.envelope,
      response: {
        clientDataJSON: clientData('webauthn.create', claims).toString('base64url'),
        attestationObject: cbor(attestation).toString('base64url'),
        transports: ['internal'],
      },
    };
  }

  /** Returns the response that a browser gives to `navigator.credentials.get()`. */
  authenticate(claims: Claims): AuthenticationResponseJSON {
    const data = clientData('webauthn.get', claims);
    const authData = authenticatorData(claims, 0);
    const signature = sign('sha256', Buffer.concat([authData, sha256(data)]), this.privateKey);
    return {
      ...this.envelope,
      response: {
        clientDataJSON: data.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: signature.toString('base64url'),
        ...(claims.userHandle === undefined
          ? {}
          : { userHandle: Buffer.from(claims.userHandle).toString('base64url') }),
      },
    };
  }

  private get envelope() {
    const { credentialId: id } = this;
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {} } as const;
  }
}

function clientData(type: string, claims: Claims): Buffer {
  const { challenge, origin } = claims;
  return Buffer.from(JSON.stringify({ type: claims.type ?? type, challenge, origin, crossOrigin: false }));
}

function authenticatorData({ rpId, isVerified = true, counter = 0 }: Claims, flags: number): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags | FLAGS.present | (isVerified ? FLAGS.verified : 0);
  head.writeUInt32BE(counter, 1);
  return Buffer.concat([sha256(rpId), head]);
}
