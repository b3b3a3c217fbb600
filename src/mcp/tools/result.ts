/** Formats tool results as members of a JSON-RPC result, in JSON without braces. */

/**
 * Returns a result with one text.
 * @param text the text, without JSON escapes
 */
export function textResult(text: string): string {
  return `"content":[{"type":"text","text":${JSON.stringify(text)}}]`;
}

/**
 * Returns a result with text and structured content.
 * @param structured the structured content, as JSON
 */
export function structuredResult(text: string, structured: string): string {
  return `${textResult(text)},"structuredContent":${structured}`;
}

/** Returns an error result. Each text becomes a separate block of the content. */
export function errorResult(...texts: readonly string[]): string {
  const blocks = texts.map((text) => `{"type":"text","text":${JSON.stringify(text)}}`);
  return `"content":[${blocks.join(',')}],"isError":true`;
}
