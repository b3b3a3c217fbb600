/**
 * Authorization requests of OAuth clients, which a member approves or denies in the panel. The authorization server
 * stores a request and redirects the browser to the panel. After the decision, the browser returns to the authorization
 * server. Only the browser in which the member decided may return. Otherwise, an attacker could send a victim a link to
 * the attacker's request and gain the victim's access.
 */
import { randomBytes } from 'node:crypto';
import type { ApiKey } from '../../accounts/api-key-rows.js';
import type { ChangeContext } from '../../records/audit-log.js';
import { hashSecret } from '../../keys/api-key-format.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import type { ClientKeys } from './client-keys.js';
import type { ObjectOrigin } from './object-limits.js';
import type { OAuthObjects, StoredPayload } from './oauth-objects.js';

/** Kinds of stored objects that the authorization server and the panel both use. */
export const INTERACTION = 'Interaction';
export const CLIENT = 'Client';
/**
 * Kind of stored client documents. A stored document replaces the original document while the client's host is down.
 */
export const DOCUMENT = 'Document';
/** Kind of the authorization requests that the panel shows. */
const REQUEST = 'Request';

/** Path of the authorization endpoint. */
export const AUTHORIZATION_PATH = '/authorize';

/** Query parameter with the proof that the member approved the request in this browser. */
export const TICKET = 'ticket';
const TICKET_BYTES = 32;

/** Returns the URL where the browser continues after the decision. */
export const resumeUrlAt = (issuer: string, id: string): string => `${issuer}${AUTHORIZATION_PATH}/${id}`;

/**
 * Subject of every session at the authorization server, which has no users of its own. The key records which member
 * granted access to which client.
 */
export const SUBJECT = 'panel';

/**
 * Limits for undecided requests: in total, and for each network, site and client. Anyone can create a request. At a
 * limit, `ObjectLimits` deletes older requests.
 */
const MAX_OPEN = 10_000;
const MAX_OPEN_OF_NETWORK = 100;
const MAX_OPEN_OF_SITE = 200;
const MAX_OPEN_OF_CLIENT = 1_000;
/** Time to decide a request, in milliseconds. */
export const REQUEST_LIFETIME_MS = 10 * 60_000;
const DAY_MS = 86_400_000;
/** Time after the end of a client's last key in which its registration and document remain stored, in milliseconds. */
const CLIENT_KEPT_MS = DAY_MS;

/** AuthorizationRequest is a client's request for access, as the panel shows it to the member. */
export interface AuthorizationRequest {
  readonly clientId: string;
  /** Name from the client's own metadata; unverified. */
  readonly clientName: string;
  /** Host of the client ID if the ID is a URL, else null. */
  readonly clientHost: string | null;
  /**
   * Host of the redirect URI, which receives the authorization code. If the URI has no host, its scheme, such as
   * `vscode:`.
   */
  readonly redirectHost: string;
  /** The requested scopes that an operation requires. Unknown scopes are omitted. */
  readonly scopes: readonly string[];
}

/** Approval holds the member's choices for an approved request. */
export interface Approval {
  readonly accountId: string;
  readonly scopes: readonly string[];
  /** Expiration of the client's key (RFC 3339). */
  readonly expiresAt: string;
}

export interface AuthorizationRequestParts {
  readonly objects: OAuthObjects;
  readonly keys: ClientKeys;
  readonly clock: Clock;
  /** Returns the URL where the authorization server continues, given the request's ID. */
  readonly resumeUrl: (id: string) => string;
  /** Returns the maximum lifetime of a grant, in milliseconds. */
  readonly longestMs: () => number;
  /** Replaces `MAX_OPEN` in tests. */
  readonly mostOpen?: number;
}

/**
 * AuthorizationRequests stores authorization requests and records the member's decisions. Reading or deciding a request
 * rejects with `resource_not_found` if the request is unknown, expired or already decided.
 */
export class AuthorizationRequests {
  constructor(private readonly parts: AuthorizationRequestParts) {}

  /** Maximum lifetime of a grant, in milliseconds. */
  get longestMs(): number {
    return this.parts.longestMs();
  }

  /** Stores the library's interaction for a new request. First deletes older requests if a limit is reached. */
  async open(id: string, interaction: StoredPayload, expiresAtMs: number, origin: ObjectOrigin): Promise<void> {
    const { objects, mostOpen = MAX_OPEN } = this.parts;
    const room = objects.limitsFor({
      kind: INTERACTION,
      beside: [REQUEST],
      lifetimeMs: REQUEST_LIFETIME_MS,
      most: mostOpen,
      mostOfNetwork: MAX_OPEN_OF_NETWORK,
      mostOfSite: MAX_OPEN_OF_SITE,
      mostOfClient: MAX_OPEN_OF_CLIENT,
    });
    await room.makeRoom(origin);
    await objects.storeObject(INTERACTION, id, interaction, expiresAtMs, { origin });
  }

  /** Reports whether a client is registered, or its metadata document is stored. */
  async isKnown(clientId: string): Promise<boolean> {
    const kind = clientId.startsWith('https://') ? DOCUMENT : CLIENT;
    return (await this.parts.objects.findPayload(kind, clientId)) !== undefined;
  }

  /** Stores a request for the panel. */
  add(id: string, request: AuthorizationRequest): Promise<void> {
    const { objects, clock } = this.parts;
    return objects.storeObject(REQUEST, id, { ...request }, clock.now() + REQUEST_LIFETIME_MS);
  }

  /** Returns an undecided request. Rejects with `resource_not_found`. */
  async get(id: string): Promise<AuthorizationRequest> {
    const found = await this.parts.objects.findPayload(REQUEST, id);
    if (found === undefined || found.consumedAt !== null) throw notFound();
    return found.payload as unknown as AuthorizationRequest;
  }

  /**
   * Approves a request and creates the client's key.
   * @param memberId the member who approves; null: the operator token
   * @returns the URL where the browser continues
   * @throws Problem `validation_failed` for scopes that were not requested or a late expiration, `forbidden` if the
   * member lost their role in the meantime
   */
  async approve(id: string, approval: Approval, memberId: string | null, context: ChangeContext): Promise<string> {
    const { clientId, clientName, scopes } = await this.get(id);
    const expiresAt = this.checkApproval(approval, scopes);
    // Read the interaction before creating a key. Without the interaction, the browser cannot return.
    const interaction = await this.readInteraction(id);
    await this.consume(id);
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
      await this.storeResult(id, interaction, {
        login: { accountId: SUBJECT, remember: false },
        consent: { grantId: key.id, ticketHash: hashSecret(ticket) },
      });
      return `${this.parts.resumeUrl(id)}?${TICKET}=${ticket}`;
    } catch (error) {
      await this.undo(id, key, context);
      throw error;
    }
  }

  /**
   * Denies a request.
   * @returns the URL where the browser continues
   */
  async deny(id: string): Promise<string> {
    await this.get(id);
    const interaction = await this.readInteraction(id);
    await this.consume(id);
    try {
      await this.storeResult(id, interaction, { error: 'access_denied', error_description: 'The request was denied.' });
    } catch (error) {
      await this.undo(id);
      throw error;
    }
    return this.parts.resumeUrl(id);
  }

  /**
   * Checks the scopes and the expiration of an approval. Returns the expiration of the key, in milliseconds since the
   * epoch. Throws `validation_failed`.
   */
  private checkApproval({ scopes, expiresAt }: Approval, asked: readonly string[]): number {
    const errors = scopes.flatMap((scope, index) =>
      asked.includes(scope) ? [] : [{ pointer: `#/scopes/${index}`, detail: 'was not requested by the client' }],
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

  /** Marks the request as decided, so that only one of two concurrent decisions succeeds. */
  private async consume(id: string): Promise<void> {
    if (!(await this.parts.objects.markUsed(REQUEST, id))) throw notFound();
  }

  /**
   * Tries to revert a failed decision, so that the member can decide again and no unused key remains. Ignores errors,
   * because the caller reports the original error.
   */
  private async undo(id: string, key?: ApiKey, context?: ChangeContext): Promise<void> {
    const { objects, keys } = this.parts;
    // The revocation must not change the recorded response of the request.
    const undoContext = context && { ...context, response: undefined };
    if (key !== undefined && undoContext !== undefined) await keys.revoke(key.id, undoContext).catch(() => undefined);
    await objects.unmarkUsed(REQUEST, id).catch(() => undefined);
  }

  private async readInteraction(id: string): Promise<StoredPayload> {
    const found = await this.parts.objects.findPayload(INTERACTION, id);
    if (found === undefined) throw notFound();
    return found.payload;
  }

  private async storeResult(id: string, interaction: StoredPayload, result: StoredPayload): Promise<void> {
    if (!(await this.parts.objects.replacePayload(INTERACTION, id, { ...interaction, result }))) throw notFound();
  }
}

/**
 * Extends the storage of a client's registration and document until a day after the end of its key. Never shortens the
 * storage.
 * @param keyEndsMs when the key ends, in milliseconds since the epoch
 */
export async function keepClient(objects: OAuthObjects, clientId: string, keyEndsMs: number): Promise<void> {
  for (const kind of [CLIENT, DOCUMENT]) await objects.keepUntil(kind, clientId, keyEndsMs + CLIENT_KEPT_MS);
}

function notFound(): Problem {
  return new Problem('resource_not_found', {
    detail: 'The authorization request does not exist or has expired. Connect again in your application.',
  });
}
