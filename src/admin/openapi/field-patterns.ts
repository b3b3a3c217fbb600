/** What fields of requests look like: the description says it, and nothing else is taken. */

const TAG = '"[!#-~]{1,40}"';
const MORE = '{0,9}';

/** One or up to ten strong entity tags, or any version. */
export const IF_MATCH = `^(?:\\*|${TAG}(?: *, *${TAG})${MORE})$`;
/** The same, also of weak ones. */
export const IF_NONE_MATCH = `^(?:\\*|(?:W/)?${TAG}(?: *, *(?:W/)?${TAG})${MORE})$`;
/** Bare, or in quotes as the draft of the field has it. */
export const IDEMPOTENCY_KEY = '^(?:"[ !#-\\[\\]-~]{1,255}"|[!#-~](?:[ !#-~]{0,253}[!#-~])?)$';

/** The most characters of one. */
export const LONGEST = { tags: 1_000, idempotencyKey: 257 } as const;
