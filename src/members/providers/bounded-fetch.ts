/** HTTP for calls to identity providers, with a limit on the response size. The caller sets the deadline. */
import type { CustomFetch, CustomFetchOptions } from 'openid-client';

/** Maximum size of a decoded response body. Metadata, keys and tokens take a few kilobytes. */
const LARGEST_RESPONSE_BYTES = 1_048_576;

/** Fetches a URL and rejects if the response exceeds 1 MiB. */
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

/** Drops the header fields that do not match the decoded body. */
function plainHeaders(headers: Headers): Headers {
  const plain = new Headers(headers);
  plain.delete('content-encoding');
  plain.delete('content-length');
  return plain;
}
