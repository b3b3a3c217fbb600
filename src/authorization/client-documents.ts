/**
 * Fetches the document that a client's id leads to (OAuth Client ID Metadata Document). Anybody can have it fetched, so
 * it goes the way of every request to an address that a stranger has chosen: public addresses only, no redirect, within
 * bounds.
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

/** More than the draft's 5 KB, for those who say much of themselves. */
const LARGEST_DOCUMENT_BYTES = 16 * 1_024;
const TIMEOUT_MS = 2_000;
const CONNECT_TIMEOUT_MS = 1_500;

/** A document that is kept counts so long before its host is asked again. */
const KEPT_SECONDS = 60;

/** ClientDocuments fetches them. */
export class ClientDocuments {
  private readonly options: GuardedSendOptions;

  /** @param more what is different in tests, whose servers are on this machine. */
  constructor(
    private readonly objects: Pick<OAuthObjects, 'find' | 'put' | 'keepUntil' | 'change'>,
    private readonly clock: Clock,
    more: Partial<GuardedSendOptions> = {},
  ) {
    const rules = outboundRules({ allowHttp: false, allowPrivateNetworks: [] });
    this.options = { rules, resolve: nameResolver(), connectTimeoutMs: CONNECT_TIMEOUT_MS, ...more };
  }

  /**
   * Fetches one, and hands out what we take of it: as `fetch` would, for the library. Of a client that somebody has let
   * in, what it was last where its host is away: on `invalid_client` it would throw away what it has. Rejects with why
   * there is none.
   */
  async fetch(url: string): Promise<Response> {
    const response = await this.get(url).catch((error: Error) => error);
    if (response instanceof Error || isOutage(response)) {
      const kept = await this.objects.find(DOCUMENT, url);
      if (kept !== undefined) {
        return Response.json(kept.payload, { headers: { 'cache-control': `max-age=${KEPT_SECONDS}` } });
      }
    }
    if (response instanceof Error) throw response;
    if (response.statusCode !== 200) return new Response(null, { status: statusOf(response) });
    if (response.body.length > LARGEST_DOCUMENT_BYTES) throw new Error('the document is too large');
    const cacheControl = response.headers['cache-control'];
    const headers = cacheControl === undefined ? {} : { 'cache-control': cacheControl };
    const taken = takenOf(url, toPlain(readJson(response.body)));
    // Where it cannot be written down, there is the one before.
    await this.objects.change(DOCUMENT, url, taken).catch(() => false);
    return Response.json(taken, { headers });
  }

  /** Keeps what a client is known by that asks to be let in: as long as its request, and longer where it is. */
  async keep({ clientId, clientName, redirectUris }: Client): Promise<void> {
    const until = this.clock.now() + REQUEST_LIFETIME_MS;
    if ((await this.objects.find(DOCUMENT, clientId)) !== undefined) {
      await this.objects.keepUntil(DOCUMENT, clientId, until);
      return;
    }
    const properties = clientProperties(clientId, { client_name: clientName, redirect_uris: [...redirectUris] });
    await this.objects.put(DOCUMENT, clientId, properties, until);
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

/** Throws where it is none of ours: for another client, for one with a secret, or without what is needed. */
function takenOf(url: string, document: unknown): StoredPayload {
  const metadata = clientMetadata.parse(document);
  if ((document as { readonly client_id?: unknown }).client_id !== url)
    throw new Error('the document is of another client');
  const { token_endpoint_auth_method: method = 'none' } = metadata;
  if (method !== 'none') throw new Error('the client would show who it is in a way that is not taken here');
  return clientProperties(url, metadata);
}

/** A host that cannot serve it now; one that says that there is none, or another one, is believed. */
function isOutage({ statusCode }: GuardedResponse): boolean {
  return statusCode >= 500 || statusCode === 429;
}

/** A `Response` takes no status of an interim one. */
function statusOf({ statusCode }: GuardedResponse): number {
  return statusCode >= 200 && statusCode <= 599 && ![204, 205, 304].includes(statusCode) ? statusCode : 502;
}
