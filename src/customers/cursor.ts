/**
 * Encodes the cursors of the customer list. Cursors are opaque to the caller and signed. A cursor is valid only for the
 * account and the filters for which it was created. A cursor is a position in the sort order, so it stays valid if the
 * customer at that position is deleted.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { RequestError } from './errors.js';

/** Position is the sort key of the last customer of a page. */
export interface Position {
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly id: string;
}

/** Account and filters, which must be the same for all pages of a list. The page size can change. */
export type CursorScope = readonly (string | number | undefined)[];

const SIGNATURE_BYTES = 16;
const VERSION = '1';

/**
 * CursorCodec signs and verifies cursors. The secret comes from the database, so cursors stay valid after a restart and
 * in every process.
 */
export class CursorCodec {
  constructor(private readonly secret: string) {}

  /** Returns the signed cursor of a position. */
  encode(position: Position, scope: CursorScope): string {
    const payload = `${VERSION}.${position.createdAt}.${position.id}`;
    return Buffer.concat([this.signature(payload, scope), Buffer.from(payload)]).toString('base64url');
  }

  /**
   * Returns the position that a cursor contains.
   * @throws RequestError `invalid_cursor` unless `encode` created the cursor for the same scope
   */
  decode(cursor: string, scope: CursorScope): Position {
    const bytes = Buffer.from(cursor, 'base64url');
    const payload = bytes.subarray(SIGNATURE_BYTES).toString();
    // Node's base64url decoder skips invalid characters. Comparing the encoded text rejects other spellings of the
    // cursor.
    const isGenuine =
      bytes.length > SIGNATURE_BYTES &&
      bytes.toString('base64url') === cursor &&
      timingSafeEqual(bytes.subarray(0, SIGNATURE_BYTES), this.signature(payload, scope));
    const [version, createdAt, id] = payload.split('.');
    if (!isGenuine || version !== VERSION || createdAt === undefined || id === undefined) {
      throw new RequestError(
        'invalid_cursor',
        'The cursor is not valid here. Send next_cursor unchanged, with the same filters as the request that it ' +
          'came from, or leave it out to start from the beginning.',
        [{ parameter: 'cursor', message: 'is not a cursor of this list and these filters' }],
      );
    }
    return { createdAt: Number(createdAt), id };
  }

  private signature(payload: string, scope: CursorScope): Buffer {
    const text = JSON.stringify([payload, ...scope.map((part) => part ?? null)]);
    return createHmac('sha256', this.secret).update(text).digest().subarray(0, SIGNATURE_BYTES);
  }
}
