/** Dynamic client registration (RFC 7591) for clients without a metadata document, if the configuration allows it. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { CLIENT } from './clients/authorization-requests.js';
import type { ObjectOrigin, ObjectRoom } from './clients/object-room.js';
import type { OAuthObjects } from './clients/oauth-objects.js';
import type { Clock } from '../platform/clock.js';
import { clientMetadata, clientProperties } from './client-metadata.js';
import { toPlain } from '../platform/json/exact-json.js';
import { readJson } from '../platform/json/read-json.js';

/** Limits for registered clients without a grant. Anyone can register one. Beyond a limit, the oldest is deleted. */
const MOST_CLIENTS = 10_000;
const MOST_OF_NETWORK = 1_000;
/** Lifetime of a registration without a grant. An approval extends it. */
const UNUSED_LIFETIME_MS = 86_400_000;

/** RegistrationResponse is a status and a JSON body. */
export interface RegistrationResponse {
  readonly status: number;
  readonly body: object;
}

/** Registration registers clients. */
export class Registration {
  /** Limits for unused clients. Clients with a grant are kept longer and do not count. */
  private readonly room: ObjectRoom;

  constructor(
    private readonly objects: OAuthObjects,
    private readonly clock: Clock,
    mostUnused: number = MOST_CLIENTS,
  ) {
    this.room = objects.room({
      kind: CLIENT,
      beside: [],
      lifetimeMs: UNUSED_LIFETIME_MS,
      most: mostUnused,
      mostOfNetwork: MOST_OF_NETWORK,
      mostOfSite: MOST_OF_NETWORK,
      mostOfClient: mostUnused,
    });
  }

  /** Registers a client. Rejects with the database's error. */
  async register(body: string, origin: ObjectOrigin): Promise<RegistrationResponse> {
    const parsed = clientMetadata.safeParse(jsonOf(body));
    if (!parsed.success) {
      const isRedirect = parsed.error.issues.some(({ path }) => path[0] === 'redirect_uris');
      const error = isRedirect ? 'invalid_redirect_uri' : 'invalid_client_metadata';
      return { status: 400, body: { error, error_description: z.prettifyError(parsed.error).slice(0, 500) } };
    }
    const id = randomUUID();
    const now = this.clock.now();
    await this.room.make(origin);
    // Whatever authentication the client asked for, it becomes a public client with PKCE. The response says so (section
    // 3.2.1).
    const properties = clientProperties(id, parsed.data);
    await this.objects.put(CLIENT, id, properties, now + UNUSED_LIFETIME_MS, { origin });
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
