/**
 * Requests of OAuth clients to be let in, as the panel shows and decides them. The authorization server puts them here
 * and sends the browser to the panel; what was decided there it reads when the browser comes back, which has to be the
 * one that it sent, and the one that somebody has decided in: else whoever sends a link to a request of his own would
 * be let in by whoever follows it.
 */
import { randomBytes } from 'node:crypto';
import type { ApiKey } from '../../accounts/api-key-rows.js';
import type { ChangeContext } from '../../records/audit-log.js';
import { hashSecret } from '../../keys/api-key-format.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import type { ClientKeys } from './client-keys.js';
import type { ObjectOrigin } from './object-room.js';
import type { OAuthObjects, StoredPayload } from './oauth-objects.js';

/** Kinds of objects that both sides know. */
export const INTERACTION = 'Interaction';
export const CLIENT = 'Client';
/** The document of a client that is let in, as it was last seen: for when its host is away. */
export const DOCUMENT = 'Document';
const REQUEST = 'Request';

/** Where clients send the browser, below the origin of the authorization server. */
export const AUTHORIZATION_PATH = '/authorize';

/** What shows, in the query of the way back, that this browser is the one in which somebody said yes. */
export const TICKET = 'ticket';
const TICKET_BYTES = 32;

/** Where the browser goes on with a request that has been decided. */
export const resumeUrlAt = (issuer: string, id: string): string => `${issuer}${AUTHORIZATION_PATH}/${id}`;

/**
 * Who signs in at the authorization server: it knows nobody but the panel. Whoever was let in by whom stands in the
 * key.
 */
export const SUBJECT = 'panel';

/** Requests that nobody has decided. Anyone can begin one; beyond these bounds the oldest goes. */
const MOST_OPEN = 10_000;
const MOST_OPEN_OF_NETWORK = 100;
const MOST_OPEN_OF_SITE = 200;
const MOST_OPEN_OF_CLIENT = 1_000;
/** How long a person may take. */
export const REQUEST_LIFETIME_MS = 10 * 60_000;
const DAY_MS = 86_400_000;
/** A client is known longer than any key that it is let in with. */
const CLIENT_KEPT_MS = DAY_MS;

/** AuthorizationRequest is what a person is asked. */
export interface AuthorizationRequest {
  readonly clientId: string;
  /** What the client says of itself: nobody has checked it. */
  readonly clientName: string;
  /** Where it is at home: of a client whose id is a URL that is served there, else null. */
  readonly clientHost: string | null;
  /** Where its code is sent to. */
  readonly redirectHost: string;
  /** What it asks for, of what there is. */
  readonly scopes: readonly string[];
}

/** Approval is what a person has chosen. */
export interface Approval {
  readonly accountId: string;
  readonly scopes: readonly string[];
  /** RFC 3339. */
  readonly expiresAt: string;
}

export interface AuthorizationRequestParts {
  readonly objects: OAuthObjects;
  readonly keys: ClientKeys;
  readonly clock: Clock;
  /** Where the authorization server resumes a request: its URL, given the request's id. */
  readonly resumeUrl: (id: string) => string;
  /** The longest that a client may be let in for, ms. */
  readonly longestMs: () => number;
  /** Other than usual in tests. */
  readonly mostOpen?: number;
}

/** AuthorizationRequests keeps them. Rejects with `resource_not_found` for one that is over. */
export class AuthorizationRequests {
  constructor(private readonly parts: AuthorizationRequestParts) {}

  /** The longest that a client may be let in for, ms. */
  get longestMs(): number {
    return this.parts.longestMs();
  }

  /** Keeps the authorization server's own record of a request. Older requests give way where there are too many. */
  async open(id: string, interaction: StoredPayload, expiresAtMs: number, origin: ObjectOrigin): Promise<void> {
    const { objects, mostOpen = MOST_OPEN } = this.parts;
    const room = objects.room({
      kind: INTERACTION,
      beside: [REQUEST],
      lifetimeMs: REQUEST_LIFETIME_MS,
      most: mostOpen,
      mostOfNetwork: MOST_OPEN_OF_NETWORK,
      mostOfSite: MOST_OPEN_OF_SITE,
      mostOfClient: MOST_OPEN_OF_CLIENT,
    });
    await room.make(origin);
    await objects.put(INTERACTION, id, interaction, expiresAtMs, { origin });
  }

  /** Whether a client has registered, or was asked about or let in by its document. */
  async isKnown(clientId: string): Promise<boolean> {
    const kind = clientId.startsWith('https://') ? DOCUMENT : CLIENT;
    return (await this.parts.objects.find(kind, clientId)) !== undefined;
  }

  /** Keeps a request that the authorization server has received. */
  add(id: string, request: AuthorizationRequest): Promise<void> {
    const { objects, clock } = this.parts;
    return objects.put(REQUEST, id, { ...request }, clock.now() + REQUEST_LIFETIME_MS);
  }

  async get(id: string): Promise<AuthorizationRequest> {
    const found = await this.parts.objects.find(REQUEST, id);
    if (found === undefined || found.consumedAt !== null) throw notFound();
    return found.payload as unknown as AuthorizationRequest;
  }

  /**
   * Lets the client in.
   * @param memberId who says so; null: the operators' token.
   * @returns where the browser goes on.
   */
  async approve(id: string, approval: Approval, memberId: string | null, context: ChangeContext): Promise<string> {
    const { clientId, clientName, scopes } = await this.get(id);
    const expiresAt = this.checked(approval, scopes);
    // Without it there is nowhere to go on to: before a key is made.
    const interaction = await this.interaction(id);
    await this.take(id);
    const input = {
      name: clientName,
      scopes: [...approval.scopes],
      environment: 'live' as const,
      expires_at: new Date(expiresAt).toISOString(),
      allowed_ips: [],
      limits: null,
    };
    const client = { id: clientId, name: clientName, memberId };
    const { keys } = this.parts;
    let key: ApiKey | undefined;
    try {
      key = await keys.create(approval.accountId, input, client, context);
      await keepClient(this.parts.objects, clientId, this.parts.clock.now() + this.longestMs);
      const ticket = randomBytes(TICKET_BYTES).toString('base64url');
      await this.conclude(id, interaction, {
        login: { accountId: SUBJECT, remember: false },
        consent: { grantId: key.id, ticketHash: hashSecret(ticket) },
      });
      return `${this.parts.resumeUrl(id)}?${TICKET}=${ticket}`;
    } catch (error) {
      await this.undo(id, key, context);
      throw error;
    }
  }

  /** Turns the client away. @returns where the browser goes on. */
  async deny(id: string): Promise<string> {
    await this.get(id);
    const interaction = await this.interaction(id);
    await this.take(id);
    try {
      await this.conclude(id, interaction, { error: 'access_denied', error_description: 'The request was declined.' });
    } catch (error) {
      await this.undo(id);
      throw error;
    }
    return this.parts.resumeUrl(id);
  }

  private checked({ scopes, expiresAt }: Approval, asked: readonly string[]): number {
    const errors = scopes.flatMap((scope, index) =>
      asked.includes(scope) ? [] : [{ pointer: `#/scopes/${index}`, detail: 'is not what the client asks for' }],
    );
    const end = Date.parse(expiresAt);
    const latest = this.parts.clock.now() + this.longestMs;
    if (end > latest) {
      errors.push({
        pointer: '#/expires_at',
        detail: `must be at most ${Math.floor(this.longestMs / DAY_MS)} days away`,
      });
    }
    if (errors.length > 0) throw new Problem('validation_failed', { detail: 'Some fields are not valid.', errors });
    return end;
  }

  /** Of two who decide, one. */
  private async take(id: string): Promise<void> {
    if (!(await this.parts.objects.consume(REQUEST, id))) throw notFound();
  }

  /**
   * So that a person can try again where the database was away in between, and no key is left that nobody uses. What
   * cannot be undone stays; the error that led here is the one that is told.
   */
  private async undo(id: string, key?: ApiKey, context?: ChangeContext): Promise<void> {
    const { objects, keys } = this.parts;
    // What its request is told stays what it was told.
    const quietly = context && { ...context, response: undefined };
    if (key !== undefined && quietly !== undefined) await keys.revoke(key.id, quietly).catch(() => undefined);
    await objects.release(REQUEST, id).catch(() => undefined);
  }

  private async interaction(id: string): Promise<StoredPayload> {
    const found = await this.parts.objects.find(INTERACTION, id);
    if (found === undefined) throw notFound();
    return found.payload;
  }

  private async conclude(id: string, interaction: StoredPayload, result: StoredPayload): Promise<void> {
    if (!(await this.parts.objects.change(INTERACTION, id, { ...interaction, result }))) throw notFound();
  }
}

/** Keeps a client known for longer than a key of it that ends then, ms since the epoch. */
export async function keepClient(objects: OAuthObjects, clientId: string, keyEndsMs: number): Promise<void> {
  for (const kind of [CLIENT, DOCUMENT]) await objects.keepUntil(kind, clientId, keyEndsMs + CLIENT_KEPT_MS);
}

function notFound(): Problem {
  return new Problem('resource_not_found', {
    detail: 'There is no such request, or it is over. Connect once more in the application that you came from.',
  });
}
