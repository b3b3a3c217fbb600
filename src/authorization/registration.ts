/** Registration of clients that have no document of themselves (RFC 7591), where the configuration allows it. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { CLIENT } from '../oauth/authorization-requests.js';
import type { OAuthObjects } from '../oauth/oauth-objects.js';
import type { Clock } from '../platform/clock.js';
import { clientMetadata, clientProperties } from './client-metadata.js';

/** Clients that nobody has let in yet; anybody can make one, and beyond the oldest goes. */
const MOST_CLIENTS = 10_000;
/** Until somebody has let it in, which keeps it for as long. */
const UNUSED_LIFETIME_MS = 86_400_000;

/** RegistrationResponse is a status and a body, as JSON. */
export interface RegistrationResponse {
  readonly status: number;
  readonly body: object;
}

/** Registration registers clients. */
export class Registration {
  constructor(
    private readonly objects: OAuthObjects,
    private readonly clock: Clock,
    private readonly mostUnused: number = MOST_CLIENTS,
  ) {}

  /** Registers one. Rejects with the database's error. */
  async register(body: string): Promise<RegistrationResponse> {
    const parsed = clientMetadata.safeParse(jsonOf(body));
    if (!parsed.success) {
      const isRedirect = parsed.error.issues.some(({ path }) => path[0] === 'redirect_uris');
      const error = isRedirect ? 'invalid_redirect_uri' : 'invalid_client_metadata';
      return { status: 400, body: { error, error_description: z.prettifyError(parsed.error).slice(0, 500) } };
    }
    const id = randomUUID();
    const now = this.clock.now();
    await this.makeRoom(now);
    // Whatever way it wants to show who it is: there is none but PKCE, and the response says so (section 3.2.1).
    const properties = clientProperties(id, parsed.data);
    await this.objects.put(CLIENT, id, properties, now + UNUSED_LIFETIME_MS);
    return { status: 201, body: { ...properties, client_id_issued_at: Math.floor(now / 1_000) } };
  }

  /**
   * Whoever registers clients by the thousand shall not end registration for the day: the oldest that nobody has let in
   * go. Those that somebody has are kept longer, and do not count.
   */
  private async makeRoom(nowMs: number): Promise<void> {
    const unusedUntilMs = nowMs + UNUSED_LIFETIME_MS;
    const superfluous = (await this.objects.countUntil(CLIENT, unusedUntilMs)) + 1 - this.mostUnused;
    if (superfluous > 0) await this.objects.forgetFirst(CLIENT, unusedUntilMs, superfluous);
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
