/** Contents of the tools, prompts and resources of the conformance suite. */

/** A PNG of one red pixel. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
/** A WAV without a sample. */
export const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

export const textBlock = (text: string) => ({ type: 'text', text });
export const imageBlock = { type: 'image', data: PNG, mimeType: 'image/png' };
export const audioBlock = { type: 'audio', data: WAV, mimeType: 'audio/wav' };
export const resourceBlock = (uri: string, text: string) => ({
  type: 'resource',
  resource: { uri, mimeType: 'text/plain', text },
});

/** A result as members: JSON without braces. */
export function membersOf(result: object): string {
  return JSON.stringify(result).slice(1, -1);
}
