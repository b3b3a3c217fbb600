/**
 * Runs the authorization server in this process, on a real database whose statements can fail, and with a test clock.
 * Tests see its responses without starting a program.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RootOperationNode } from 'kysely';
import type { ApiKey } from '../../src/accounts/api-key-rows.js';
import type { ClientDocuments } from '../../src/authorization/client-documents.js';
import { McpTokenAuthenticator } from '../../src/authorization/mcp-token-authenticator.js';
import { NetworkThrottle } from '../../src/authorization/network-throttle.js';
import { OAuthServer } from '../../src/authorization/oauth-server.js';
import { openProvider } from '../../src/authorization/provider.js';
import { Registration } from '../../src/authorization/registration.js';
import { DatabaseUnavailable } from '../../src/stores/database/database-errors.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { WorkSignal } from '../../src/outbox/work-signal.js';
import { ApiKeyCache } from '../../src/keys/api-key-cache.js';
import { DatabaseKeyLookup } from '../../src/keys/api-key-lookup.js';
import { Authenticator } from '../../src/keys/authenticator.js';
import { CachedKeyFactory, type CachedKey } from '../../src/keys/cached-key.js';
import { ForeignKeys } from '../../src/keys/foreign-keys.js';
import { LastUsed } from '../../src/keys/last-used.js';
import { ScopeSets } from '../../src/keys/scopes.js';
import { trustsOf } from '../../src/keys/clients/client-address.js';
import { ProcessThrottleWindows } from '../../src/quota/throttle-windows.js';
import { AuthorizationRequests, resumeUrlAt } from '../../src/authorization/clients/authorization-requests.js';
import { ClientKeys } from '../../src/authorization/clients/client-keys.js';
import { originOf, type ObjectOrigin } from '../../src/authorization/clients/object-limits.js';
import { OAuthObjects } from '../../src/authorization/clients/oauth-objects.js';
import type { Logger } from '../../src/platform/log.js';
import type { Problem } from '../../src/platform/problems/errors.js';
import { testDatabase } from './database.js';
import { DAY_MS, OAuthSteps } from './oauth-steps.js';
import { OPERATOR, storesOn, TEST_CONFIG, TestClock } from './stores.js';

/** A trusted network, whose addresses many people share. */
export const TRUSTED_NETWORK = '192.0.2.0/24';
/** Maximum number of open authorization requests. */
export const MAX_OPEN = 50;
const SCOPES = ['customers:read', 'customers:write', 'tours:read'];

type DocumentsOf = (objects: OAuthObjects, clock: TestClock) => Pick<ClientDocuments, 'fetchDocument' | 'keep'>;
const NO_DOCUMENTS: ReturnType<DocumentsOf> = {
  fetchDocument: () => Promise.reject(new Error('no document')),
  keep: () => Promise.reject(new Error('no document')),
};

/** OAuthServerWorld contains the authorization server and everything it uses. The test must stop it. */
export class OAuthServerWorld extends OAuthSteps {
  /** Selects the statements that fail, as if the database were unavailable. */
  failing: (statement: RootOperationNode) => boolean = () => false;
  /** Names of the logged events. */
  readonly logged: string[] = [];
  readonly log: Logger;
  readonly clock = new TestClock(Date.now());
  /** Maximum lifetime of a grant in ms (`mcp.oauth.longestAccess`). */
  longestMs = 90 * DAY_MS;
  readonly stores: ReturnType<typeof storesOn>;
  readonly objects: OAuthObjects;
  readonly keys: ClientKeys;
  readonly requests: AuthorizationRequests;

  private constructor(
    private readonly handle: DatabaseHandle,
    readonly server: Server,
    readonly issuer: string,
  ) {
    super();
    const note = ({ event }: { readonly event: string }): void => void this.logged.push(event);
    this.log = { error: note, warn: note, info: note } as unknown as Logger;
    const { clock } = this;
    const db = handle.db.withPlugin({
      transformQuery: ({ node }) => {
        if (this.failing(node)) throw new DatabaseUnavailable('it is away');
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    this.stores = storesOn({ ...handle, db }, new WorkSignal(), clock);
    const { keys: store, bus } = this.stores;
    this.objects = new OAuthObjects(db, clock);
    this.keys = new ClientKeys({ db, clock, bus, keys: store });
    const resumeUrl = (id: string): string => resumeUrlAt(issuer, id);
    const { objects, keys } = this;
    this.requests = new AuthorizationRequests({
      objects,
      keys,
      clock,
      resumeUrl,
      longestMs: () => this.longestMs,
      mostOpen: MAX_OPEN,
    });
  }

  /**
   * Starts the server.
   * @param documentsOf creates the source of client metadata documents. Without it, every fetch fails.
   */
  static async start(documentsOf?: DocumentsOf): Promise<OAuthServerWorld> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
    const oauth = new OAuthServerWorld(await testDatabase('sqlite'), server, issuer);
    await oauth.open(documentsOf?.(oauth.objects, oauth.clock) ?? NO_DOCUMENTS);
    return oauth;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await this.handle.close();
  }

  async newAccount(): Promise<string> {
    const input = { name: 'Isar Rafting', plan: 'starter', time_zone: 'UTC', billing_day: 1 };
    return (await this.stores.accounts.create(input, OPERATOR)).id;
  }

  override approve(id: string, accountId: string, change: object = {}): Promise<string> {
    const expiresAt = new Date(this.clock.now() + DAY_MS).toISOString();
    return this.requests.approve(id, { accountId, scopes: ['customers:read'], expiresAt, ...change }, null, OPERATOR);
  }

  /** Returns the keys of an account. */
  async keysOf(accountId: string): Promise<readonly ApiKey[]> {
    const account = await this.stores.accounts.get(accountId);
    return (await this.stores.keys.list(account, { limit: 100, sort: 'created', order: 'asc' })).data;
  }

  /** Authenticates a token as the request path does. Returns its key or a problem. */
  async admit(token: string): Promise<CachedKey | Problem> {
    return this.newAuthenticator().authenticate(token, '203.0.113.9');
  }

  /** Creates an authenticator of the request path with an empty cache. */
  newAuthenticator(): Authenticator {
    const { database, bus } = this.stores;
    const lookup = new DatabaseKeyLookup(database.db, database.kind);
    const factory = new CachedKeyFactory(TEST_CONFIG.file.plans, new ScopeSets());
    const cache = new ApiKeyCache(lookup, factory, bus, this.clock);
    return new Authenticator(
      cache,
      new ForeignKeys(lookup, bus, this.clock),
      new LastUsed(lookup, this.log),
      this.clock,
    );
  }

  private async open(documents: ReturnType<DocumentsOf>): Promise<void> {
    const { issuer, objects, keys, requests, clock, log } = this;
    const scopes = (): readonly string[] => SCOPES;
    const areMany = trustsOf([TRUSTED_NETWORK]);
    const throttle = new NetworkThrottle(new ProcessThrottleWindows(clock), areMany);
    const origin = (address: string, clientId?: string): ObjectOrigin =>
      originOf(address, areMany?.(address) === true, clientId);
    const serve = await openProvider({
      issuer,
      resource: this.mcpUrl,
      tokenLifetimeMs: 3_600_000,
      objects,
      keys,
      clock,
      requests,
      documents,
      scopes,
      panelUrl: (id) => `http://panel.test/oauth/${id}`,
      mayFetch: (address) => throttle.admits('document', address),
      originOf: origin,
      resumeUrl: (id) => resumeUrlAt(issuer, id),
      log,
    });
    const { handle } = new OAuthServer({
      metadata: { issuer, name: () => 'Test', scopes, hasRegistration: true },
      serve,
      requests,
      registration: new Registration(objects, clock),
      authenticator: new McpTokenAuthenticator(issuer),
      toGateway: (_message, response) => void response.writeHead(204).end(),
      throttle,
      originOf: origin,
      trusts: trustsOf(['127.0.0.1', '::1']),
      log,
    });
    this.server.on('request', handle);
  }
}
