/** Patterns of request header fields, used for validation and in the OpenAPI document. */

const TAG = '"[!#-~]{1,40}"';
const MORE = '{0,9}';

/** One to ten strong entity tags, or `*`. */
export const IF_MATCH = `^(?:\\*|${TAG}(?: *, *${TAG})${MORE})$`;
/** One to ten strong or weak entity tags, or `*`. */
export const IF_NONE_MATCH = `^(?:\\*|(?:W/)?${TAG}(?: *, *(?:W/)?${TAG})${MORE})$`;
/** A key bare, or quoted as in the IETF draft of the field. */
export const IDEMPOTENCY_KEY = '^(?:"[ !#-\\[\\]-~]{1,255}"|[!#-~](?:[ !#-~]{0,253}[!#-~])?)$';

/** Maximum length of each field, in characters. */
export const LONGEST = { tags: 1_000, idempotencyKey: 257 } as const;
