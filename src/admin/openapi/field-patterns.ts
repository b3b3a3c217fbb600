/** Regular expressions for request headers, used for validation and in the OpenAPI document. */

const TAG = '"[!#-~]{1,40}"';
const UP_TO_NINE = '{0,9}';

/** `If-Match`: one to ten strong entity tags, or `*`. */
export const IF_MATCH = `^(?:\\*|${TAG}(?: *, *${TAG})${UP_TO_NINE})$`;
/** `If-None-Match`: one to ten strong or weak entity tags, or `*`. */
export const IF_NONE_MATCH = `^(?:\\*|(?:W/)?${TAG}(?: *, *(?:W/)?${TAG})${UP_TO_NINE})$`;
/** `Idempotency-Key`: a key of 1 to 255 characters, bare or quoted as in the IETF draft of the header. */
export const IDEMPOTENCY_KEY = '^(?:"[ !#-\\[\\]-~]{1,255}"|[!#-~](?:[ !#-~]{0,253}[!#-~])?)$';

/** Maximum length of each header, in characters. */
export const LONGEST = { tags: 1_000, idempotencyKey: 257 } as const;
