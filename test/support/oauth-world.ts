/** Runs the program as an authorization server, with an OAuth client and a member who approves its requests. */
import { startBackend, json, type Backend, type BackendHandler } from './backend.js';
import { DAY_MS, NO_KEEP_ALIVE, OAuthSteps } from './oauth-steps.js';
import { newOperator, type Person } from './panel-people.js';
import { freePort } from './processes.js';
import { startTrailgate, type RunningTrailgate, type TrailgateOptions } from './program.js';
import { mergePatch, type Json } from './program-config.js';
import type { PanelBrowser } from './signed-in.js';

const tool = (operationId: string, scope: string) => ({
  operationId,
  'x-mcp': { description: 'Does something with customers, for tests.' },
  security: [{ apiKey: [scope] }],
  responses: { 200: { description: 'As the backend says.' } },
});

const OPENAPI = {
  openapi: '3.1.0',
  info: { title: 'Test backend', version: '1.0.0' },
  components: { securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } } },
  paths: {
    '/customers': { get: tool('listCustomers', 'customers:read'), post: tool('createCustomer', 'customers:write') },
    '/open': { get: { operationId: 'getOpen', responses: { 200: { description: 'As the backend says.' } } } },
  },
};

/** OAuthWorldOptions holds the options of a test, except for the configuration. */
export interface OAuthWorldOptions extends Omit<TrailgateOptions, 'backend' | 'config' | 'openapi'> {
  /** Handler of the backend. By default, the backend returns an empty list. */
  readonly handler?: BackendHandler;
}

/** OAuthWorld is a running program with an authorization server, its backend, and the steps of an OAuth client. */
export class OAuthWorld extends OAuthSteps {
  /** Session that approves requests. If undefined, a new operator approves them. */
  approver: Pick<PanelBrowser, 'call'> | undefined;
  private readonly nodes: RunningTrailgate[] = [];
  private operator: Promise<Person> | undefined;

  private constructor(
    readonly trailgate: RunningTrailgate,
    readonly backend: Backend,
    readonly issuer: string,
    private readonly address: string,
    private readonly options: TrailgateOptions & { readonly config: Json },
    /** The first program, which also runs the admin API and the panel. */
    private readonly first: RunningTrailgate,
  ) {
    super();
  }

  override get origin(): string {
    return this.address;
  }

  static async start(oauth: Json = {}, config: Json = {}, more: OAuthWorldOptions = {}): Promise<OAuthWorld> {
    const port = await freePort();
    const issuer = `${oauth['tls'] === undefined ? 'http' : 'https'}://localhost:${port}`;
    const { handler = json({ data: [] }), ...rest } = more;
    const backend = await startBackend(handler);
    const options = {
      backend: backend.url,
      openapi: OPENAPI,
      config: {
        admin: { port: await freePort() },
        mcp: { oauth: { publicUrl: issuer, port, registration: true, ...oauth } },
        gateway: { trustedProxies: ['127.0.0.1', '::1'] },
        ...config,
      },
      ...rest,
    };
    const trailgate = await startTrailgate(options);
    return new OAuthWorld(trailgate, backend, issuer, issuer, options, trailgate);
  }

  /**
   * Starts another process with only the gateway role. It has the same issuer, but its own port. `stop` of this world
   * stops it.
   */
  async addNode(): Promise<OAuthWorld> {
    const { options, backend, issuer, first } = this;
    const port = await freePort();
    const change = { mcp: { oauth: { port } }, admin: { port: 0, url: first.adminUrl } };
    const config = mergePatch(options.config, change) as Json;
    const node = await startTrailgate({ ...options, config, roles: ['gateway'] });
    this.nodes.push(node);
    return new OAuthWorld(node, backend, issuer, `http://localhost:${port}`, options, first);
  }

  /** Stops the program, its added nodes and the backend. */
  async stop(): Promise<void> {
    for (const node of [...this.nodes, this.trailgate]) await node.stop();
    await this.backend.stop();
  }

  async newAccount(): Promise<string> {
    return (await this.first.admin.createAccount({ plan: 'starter', name: 'Isar Rafting' })).id;
  }

  /** Approves an authorization request. @returns the URL that the browser must open next. */
  async approve(id: string, accountId: string, change: object = {}): Promise<string> {
    const expiresAt = new Date(Date.now() + DAY_MS).toISOString();
    const body = { account_id: accountId, scopes: ['customers:read'], expires_at: expiresAt, ...change };
    const path = `/authorization-requests/${id}/approval`;
    // The API accepts approvals only from a session, not from an operator token.
    this.operator ??= newOperator(this.first);
    const session = this.approver ?? (await this.operator).session;
    return (await session.call<{ redirect_url: string }>('POST', path, body)).redirect_url;
  }

  /** Lists the tools with an access token, as a client of MCP version 2025-06-18. */
  listTools(token: string | undefined, url: string = this.mcpUrl): Promise<Response> {
    return this.send(token, 'tools/list', {}, url);
  }

  /** Sends an MCP message with an access token, as a client of MCP version 2025-06-18. */
  send(token: string | undefined, method: string, params: object = {}, url: string = this.mcpUrl): Promise<Response> {
    return fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-06-18',
        ...NO_KEEP_ALIVE,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
  }
}
