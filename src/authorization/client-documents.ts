/**
 * Fetches the metadata document of a client whose ID is a URL (OAuth Client ID Metadata Document). Anyone can trigger
 * this fetch. So the guarded client allows only public addresses, follows no redirects, and limits size and time.
 */
import { outboundRules, parseDestination } from '../http/outbound/destination.js';
import { sendGuarded, type GuardedResponse, type GuardedSendOptions } from '../http/outbound/guarded-request.js';
import { nameResolver } from '../http/outbound/name-resolver.js';
import type { Client } from 'oidc-provider';
import { DOCUMENT, REQUEST_LIFETIME_MS } from './clients/authorization-requests.js';
import type { OAuthObjects, StoredPayload } from './clients/oauth-objects.js';
import type { Clock } from '../platform/clock.js';
import { clientMetadata, clientProperties } from './client-metadata.js';
import { toPlain } from '../platform/json/exact-json.js';
import { readJson } from '../platform/json/read-json.js';

/** The draft suggests 5 KB. Some clients publish more. */
const LARGEST_DOCUMENT_BYTES = 16 * 1_024;
const TIMEOUT_MS = 2_000;
const CONNECT_TIMEOUT_MS = 1_500;

/** Time for which the library caches a stored document while the client's host is unavailable, in seconds. */
const KEPT_SECONDS = 60;

/** ClientDocuments fetches, validates and stores client documents. */
export class ClientDocuments {
  private readonly options: GuardedSendOptions;

  /** @param overrides options that tests replace, because their servers run on this machine */
  constructor(
    private readonly objects: Pick<OAuthObjects, 'findPayload' | 'storeObject' | 'keepUntil' | 'replacePayload'>,
    private readonly clock: Clock,
    overrides: Partial<GuardedSendOptions> = {},
  ) {
    const rules = outboundRules({ allowHttp: false, allowPrivateNetworks: [] });
    this.options = { rules, resolve: nameResolver(), connectTimeoutMs: CONNECT_TIMEOUT_MS, ...overrides };
  }

  /**
   * Fetches a document and returns its accepted fields as a `Response` for the library. If the host is down, returns
   * the stored document of a known client. Otherwise, the library would respond `invalid_client`, and the client would
   * discard its tokens. Returns an empty `Response` for any status other than 200. Rejects if the fetch fails without a
   * stored document, or the document is invalid.
   */
  async fetchDocument(url: string): Promise<Response> {
    const response = await this.get(url).catch((error: Error) => error);
    if (response instanceof Error || isOutage(response)) {
      const stored = await this.objects.findPayload(DOCUMENT, url);
      if (stored !== undefined) {
        return Response.json(stored.payload, { headers: { 'cache-control': `max-age=${KEPT_SECONDS}` } });
      }
    }
    if (response instanceof Error) throw response;
    if (response.statusCode !== 200) return new Response(null, { status: statusOf(response) });
    if (response.body.length > LARGEST_DOCUMENT_BYTES) throw new Error('the document is too large');
    const cacheControl = response.headers['cache-control'];
    const headers = cacheControl === undefined ? {} : { 'cache-control': cacheControl };
    const valid = validateDocument(url, toPlain(readJson(response.body)));
    // If the database rejects the write, the previously stored document remains.
    await this.objects.replacePayload(DOCUMENT, url, valid).catch(() => false);
    return Response.json(valid, { headers });
  }

  /** Stores the document of a client that requests access, for at least the lifetime of the authorization request. */
  async keep({ clientId, clientName, redirectUris }: Client): Promise<void> {
    const until = this.clock.now() + REQUEST_LIFETIME_MS;
    if ((await this.objects.findPayload(DOCUMENT, clientId)) !== undefined) {
      await this.objects.keepUntil(DOCUMENT, clientId, until);
      return;
    }
    const properties = clientProperties(clientId, { client_name: clientName, redirect_uris: [...redirectUris] });
    await this.objects.storeObject(DOCUMENT, clientId, properties, until);
  }

  private async get(url: string): Promise<GuardedResponse> {
    const { rules } = this.options;
    return sendGuarded(
      {
        destination: parseDestination(url, rules),
        method: 'GET',
        headers: { accept: 'application/json' },
        body: Buffer.alloc(0),
        timeoutMs: TIMEOUT_MS,
        keepBytes: LARGEST_DOCUMENT_BYTES + 1,
      },
      this.options,
    );
  }
}

/**
 * Validates a document and returns the client's properties. Throws if the document belongs to another client, requires
 * client authentication, or lacks required fields.
 */
function validateDocument(url: string, document: unknown): StoredPayload {
  const metadata = clientMetadata.parse(document);
  if ((document as { readonly client_id?: unknown }).client_id !== url)
    throw new Error('the document is of another client');
  const { token_endpoint_auth_method: method = 'none' } = metadata;
  if (method !== 'none') throw new Error('the client would show who it is in a way that is not taken here');
  return clientProperties(url, metadata);
}

/**
 * Reports whether the response says that the host is temporarily unavailable. Other statuses, such as 404, are final.
 */
function isOutage({ statusCode }: GuardedResponse): boolean {
  return statusCode >= 500 || statusCode === 429;
}

/** Returns a status that a `Response` accepts with any body. Replaces every other status with 502. */
function statusOf({ statusCode }: GuardedResponse): number {
  return statusCode >= 200 && statusCode <= 599 && ![204, 205, 304].includes(statusCode) ? statusCode : 502;
}
