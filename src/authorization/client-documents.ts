/**
 * Fetches the document that a client's id leads to (OAuth Client ID Metadata Document). Anybody can have it fetched, so
 * it goes the way of every request to an address that a stranger has chosen: public addresses only, no redirect, within
 * bounds.
 */
import { outboundRules, parseDestination } from '../outbound/destination.js';
import { sendGuarded, type GuardedResponse, type GuardedSendOptions } from '../outbound/guarded-request.js';
import { nameResolver } from '../outbound/name-resolver.js';
import { clientMetadata, clientProperties } from './client-metadata.js';

/** More than the draft's 5 KB, for those who say much of themselves. */
const LARGEST_DOCUMENT_BYTES = 16 * 1_024;
const TIMEOUT_MS = 2_000;
const CONNECT_TIMEOUT_MS = 1_500;

/** ClientDocuments fetches them. */
export class ClientDocuments {
  private readonly options: GuardedSendOptions;

  /** @param more what is different in tests, whose servers are on this machine. */
  constructor(more: Partial<GuardedSendOptions> = {}) {
    const rules = outboundRules({ allowHttp: false, allowPrivateNetworks: [] });
    this.options = { rules, resolve: nameResolver(), connectTimeoutMs: CONNECT_TIMEOUT_MS, ...more };
  }

  /**
   * Fetches one, and hands out what we take of it: as `fetch` would, for the library. Rejects with why there is none.
   */
  async fetch(url: string): Promise<Response> {
    const response = await sendGuarded(
      {
        destination: parseDestination(url, this.options.rules),
        method: 'GET',
        headers: { accept: 'application/json' },
        body: Buffer.alloc(0),
        timeoutMs: TIMEOUT_MS,
        keepBytes: LARGEST_DOCUMENT_BYTES + 1,
      },
      this.options,
    );
    if (response.statusCode !== 200) return new Response(null, { status: statusOf(response) });
    if (response.body.length > LARGEST_DOCUMENT_BYTES) throw new Error('the document is too large');
    const cacheControl = response.headers['cache-control'];
    const headers = cacheControl === undefined ? {} : { 'cache-control': cacheControl };
    return Response.json(takenOf(url, JSON.parse(response.body.toString('utf8'))), { headers });
  }
}

/** Throws where it is none of ours: for another client, for one with a secret, or without what is needed. */
function takenOf(url: string, document: unknown): object {
  const metadata = clientMetadata.parse(document);
  if ((document as { readonly client_id?: unknown }).client_id !== url)
    throw new Error('the document is of another client');
  const { token_endpoint_auth_method: method = 'none' } = metadata;
  if (method !== 'none') throw new Error('the client would show who it is in a way that is not taken here');
  return clientProperties(url, metadata);
}

/** A `Response` takes no status of an interim one. */
function statusOf({ statusCode }: GuardedResponse): number {
  return statusCode >= 200 && statusCode <= 599 && ![204, 205, 304].includes(statusCode) ? statusCode : 502;
}
