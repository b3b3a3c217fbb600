/**
 * Fetches responses of identity providers with a limit on their size, so that a provider cannot exhaust the memory. The
 * caller sets the timeout.
 */
import type { CustomFetch, CustomFetchOptions } from 'openid-client';

/** Maximum size of a decoded response body: 1 MiB. Metadata, keys and tokens take a few kilobytes. */
const LARGEST_RESPONSE_BYTES = 1_048_576;

/** Fetches a URL. Rejects if the decoded response body exceeds 1 MiB. */
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
  // `Response` throws if these statuses have a body.
  const isEmpty = status === 204 || status === 205 || status === 304;
  return new Response(isEmpty ? null : Buffer.concat(chunks), { status, statusText, headers: plainHeaders(headers) });
};

/** Removes the header fields that describe the encoded body, because the returned body is decoded. */
function plainHeaders(headers: Headers): Headers {
  const plain = new Headers(headers);
  plain.delete('content-encoding');
  plain.delete('content-length');
  return plain;
}
