/** Results of tools, as members of a result of the protocol: JSON without braces. */

/** A result with one text. @param text of the client's eyes: as it is. */
export function textResult(text: string): string {
  return `"content":[{"type":"text","text":${JSON.stringify(text)}}]`;
}

/** The same with what it says as an object as well. @param structured JSON. */
export function structuredResult(text: string, structured: string): string {
  return `${textResult(text)},"structuredContent":${structured}`;
}

/** A result that says that the tool could not do what it was asked for, and why. */
export function errorResult(...texts: readonly string[]): string {
  const blocks = texts.map((text) => `{"type":"text","text":${JSON.stringify(text)}}`);
  return `"content":[${blocks.join(',')}],"isError":true`;
}
