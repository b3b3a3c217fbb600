/**
 * Registers OAuth clients without a metadata document (dynamic client registration, RFC 7591), if the configuration
 * allows registration. Anyone can register a client, so the number of unused clients is limited.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { CLIENT } from './clients/authorization-requests.js';
import type { ObjectOrigin, ObjectLimits } from './clients/object-limits.js';
import type { OAuthObjects } from './clients/oauth-objects.js';
import type { Clock } from '../platform/clock.js';
import { clientMetadata, clientProperties } from './client-metadata.js';
import { toPlain } from '../platform/json/exact-json.js';
import { readJson } from '../platform/json/read-json.js';

/**
 * Maximum number of registered clients without a grant, in total and per network. At a limit, `ObjectLimits` deletes
 * older clients.
 */
const MAX_CLIENTS = 10_000;
const MAX_OF_NETWORK = 1_000;
/** Lifetime of a registration without a grant, in milliseconds. An approval extends the lifetime. */
const UNUSED_LIFETIME_MS = 86_400_000;

/** RegistrationResponse is the HTTP status and the JSON body of the response to a registration. */
export interface RegistrationResponse {
  readonly status: number;
  readonly body: object;
}

/** Registration validates and stores the clients that register. */
export class Registration {
  /** Limits for clients without a grant. Clients with a grant have a longer lifetime and do not count. */
  private readonly room: ObjectLimits;

  constructor(
    private readonly objects: OAuthObjects,
    private readonly clock: Clock,
    mostUnused: number = MAX_CLIENTS,
  ) {
    this.room = objects.limitsFor({
      kind: CLIENT,
      beside: [],
      lifetimeMs: UNUSED_LIFETIME_MS,
      most: mostUnused,
      mostOfNetwork: MAX_OF_NETWORK,
      mostOfSite: MAX_OF_NETWORK,
      mostOfClient: mostUnused,
    });
  }

  /**
   * Registers a client. Returns 201 with its properties, or 400 for invalid metadata. Rejects with the database's
   * error.
   */
  async register(body: string, origin: ObjectOrigin): Promise<RegistrationResponse> {
    const parsed = clientMetadata.safeParse(jsonOf(body));
    if (!parsed.success) {
      const isRedirect = parsed.error.issues.some(({ path }) => path[0] === 'redirect_uris');
      const error = isRedirect ? 'invalid_redirect_uri' : 'invalid_client_metadata';
      return { status: 400, body: { error, error_description: z.prettifyError(parsed.error).slice(0, 500) } };
    }
    const id = randomUUID();
    const now = this.clock.now();
    await this.room.makeRoom(origin);
    // The client becomes a public client with PKCE, even if its metadata requested client authentication. The response
    // shows the registered properties (RFC 7591 section 3.2.1).
    const properties = clientProperties(id, parsed.data);
    await this.objects.storeObject(CLIENT, id, properties, now + UNUSED_LIFETIME_MS, { origin });
    return { status: 201, body: { ...properties, client_id_issued_at: Math.floor(now / 1_000) } };
  }
}

function jsonOf(text: string): unknown {
  try {
    return toPlain(readJson(Buffer.from(text)));
  } catch {
    return undefined;
  }
}
