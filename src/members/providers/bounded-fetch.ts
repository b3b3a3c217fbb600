/** Calls to identity providers: a deadline comes with each of them, and no response is read that is larger than any. */
import type { CustomFetch, CustomFetchOptions } from 'openid-client';

/** Metadata, keys and tokens have a few kilobytes. */
const LARGEST_RESPONSE_BYTES = 1_048_576;

/** BoundedFetch is `fetch` that gives up on a response that does not end. */
export const boundedFetch: CustomFetch = async (url: string, options: CustomFetchOptions): Promise<Response> => {
  const response = await fetch(url, options as RequestInit);
  const { status, statusText, headers, body } = response;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > LARGEST_RESPONSE_BYTES) throw new Error(`The response has more than ${LARGEST_RESPONSE_BYTES} bytes`);
    chunks.push(chunk);
  }
  // These have no body, and a response may not be made with one.
  const isEmpty = status === 204 || status === 205 || status === 304;
  return new Response(isEmpty ? null : Buffer.concat(chunks), { status, statusText, headers: plainHeaders(headers) });
};

/** The body is decoded already, and has another length. */
function plainHeaders(headers: Headers): Headers {
  const plain = new Headers(headers);
  plain.delete('content-encoding');
  plain.delete('content-length');
  return plain;
}
