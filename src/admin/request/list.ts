/**
 * Defines the lists of the admin API: the parameters `limit` and `cursor`, the response body, and the `Link` to the
 * next page.
 */
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Page } from '../../stores/database/cursor.js';

/** Maximum number of rows per page. */
const LARGEST_PAGE = 100;
/** Maximum length of a cursor, in characters. A cursor can contain a key's name, up to four bytes per character. */
const LONGEST_CURSOR = 2_000;
const LIMIT_MESSAGE = `must be a whole number from 1 to ${LARGEST_PAGE}`;

/**
 * Returns the schema of the `cursor` parameter.
 * @param maxLength in characters
 */
export function cursorParameter(maxLength: number) {
  return z
    .string()
    .max(maxLength)
    .optional()
    .meta({
      description: '`next_cursor` of the previous page.',
      // The pattern is for the OpenAPI document only. The handler checks the characters, and responds with
      // `invalid_cursor`.
      schema: { type: 'string', minLength: 1, maxLength, pattern: '^[A-Za-z0-9_-]+$' },
    });
}

export const pageQuerySchema = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,6}$/, LIMIT_MESSAGE)
    .transform(Number)
    .pipe(z.int().min(1, LIMIT_MESSAGE).max(LARGEST_PAGE, LIMIT_MESSAGE))
    .default(20)
    .meta({ description: 'Maximum rows per page.' }),
  cursor: cursorParameter(LONGEST_CURSOR),
});

export type PageQuery = z.output<typeof pageQuerySchema>;

/** ListBody is the response body of a list. */
export interface ListBody<T> {
  readonly data: readonly T[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/**
 * Returns the schema of a list of rows.
 * @param name name of the schema in the OpenAPI document
 * @param isPaged false for lists that always have one page
 */
export function listSchema<Row extends z.ZodType>(
  name: string,
  row: Row,
  isPaged = true,
): z.ZodType<ListBody<z.output<Row>>> {
  return z
    .object({
      data: isPaged ? z.array(row).max(LARGEST_PAGE) : z.array(row),
      has_more: z.boolean(),
      next_cursor: z.string().max(LONGEST_CURSOR).nullable().meta({ description: 'Null on the last page.' }),
    })
    .meta({ id: name });
}

/** Builds the response body of a page. If there is a next page, also sets its URL in the `Link` header (RFC 8288). */
export function listBody<T, R>(
  page: Page<T>,
  toRow: (item: T) => R,
  query: PageQuery,
  reply: FastifyReply,
): ListBody<R> {
  setNextLink(reply, query, page.nextCursor);
  return { data: page.data.map(toRow), has_more: page.nextCursor !== null, next_cursor: page.nextCursor };
}

/**
 * Sets the `Link` header to the next page, which has the same query parameters except for `cursor`. Does nothing on the
 * last page.
 */
export function setNextLink(reply: FastifyReply, query: object, nextCursor: string | null): void {
  if (nextCursor === null) return;
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...query, cursor: nextCursor })) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const path = reply.request.url.split('?', 1)[0] ?? '';
  reply.header('Link', `<${path}?${parameters}>; rel="next"`);
}
