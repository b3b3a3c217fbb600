/**
 * Cursors of the customer list: opaque to the caller, signed, and good only for the account and filters they came from.
 * A cursor is a place in the order, not a row, so it stays good when the row it came from is deleted.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { RequestError } from './errors.js';

/** Sort key of the last record of a page (created_at, id). */
export interface Position {
  /** Milliseconds. */
  readonly createdAt: number;
  readonly id: string;
}

/** Everything that must be the same on the next page: account and filters, but not the limit. */
export type CursorScope = readonly (string | number | undefined)[];

const MAC_BYTES = 16;
const VERSION = '1';

/**
 * Signs and verifies cursors with a secret from the database, so that they survive restarts and work in every process.
 */
export class CursorCodec {
  constructor(private readonly secret: string) {}

  encode(position: Position, scope: CursorScope): string {
    const payload = `${VERSION}.${position.createdAt}.${position.id}`;
    return Buffer.concat([this.mac(payload, scope), Buffer.from(payload)]).toString('base64url');
  }

  /** @throws RequestError `invalid_cursor` unless `encode` created the cursor for the same scope */
  decode(cursor: string, scope: CursorScope): Position {
    const bytes = Buffer.from(cursor, 'base64url');
    const payload = bytes.subarray(MAC_BYTES).toString();
    // Node's decoder skips invalid characters. Comparing the encoded text rejects other spellings.
    const genuine =
      bytes.length > MAC_BYTES &&
      bytes.toString('base64url') === cursor &&
      timingSafeEqual(bytes.subarray(0, MAC_BYTES), this.mac(payload, scope));
    const [version, createdAt, id] = payload.split('.');
    if (!genuine || version !== VERSION || createdAt === undefined || id === undefined) {
      throw new RequestError(
        'invalid_cursor',
        'The cursor is not valid here. Send next_cursor unchanged, with the same filters as the request that it ' +
          'came from, or leave it out to start from the beginning.',
        [{ parameter: 'cursor', message: 'is not a cursor of this list and these filters' }],
      );
    }
    return { createdAt: Number(createdAt), id };
  }

  private mac(payload: string, scope: CursorScope): Buffer {
    const text = JSON.stringify([payload, ...scope.map((part) => part ?? null)]);
    return createHmac('sha256', this.secret).update(text).digest().subarray(0, MAC_BYTES);
  }
}
