/** A program with an authorization server, a browser that goes to it, and a person in the panel who decides. */
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

/** OAuthWorldOptions are what a test may say beside the configuration. */
export interface OAuthWorldOptions extends Omit<TrailgateOptions, 'backend' | 'config' | 'openapi'> {
  /** Handler of the backend. By default there are no customers. */
  readonly handler?: BackendHandler;
}

/** OAuthWorld is all of it. */
export class OAuthWorld extends OAuthSteps {
  /** The member who approves requests; undefined: an operator does. */
  approver: Pick<PanelBrowser, 'call'> | undefined;
  private readonly nodes: RunningTrailgate[] = [];
  private operator: Promise<Person> | undefined;

  private constructor(
    readonly trailgate: RunningTrailgate,
    readonly backend: Backend,
    readonly issuer: string,
    private readonly address: string,
    private readonly options: TrailgateOptions & { readonly config: Json },
    /** That which has the panel, too. */
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

  /** One more process of it, for clients alone: with the same name at another address, on a machine of its own. */
  async addNode(): Promise<OAuthWorld> {
    const { options, backend, issuer, first } = this;
    const port = await freePort();
    const change = { mcp: { oauth: { port } }, admin: { port: 0, url: first.adminUrl } };
    const config = mergePatch(options.config, change) as Json;
    const node = await startTrailgate({ ...options, config, roles: ['gateway'] });
    this.nodes.push(node);
    return new OAuthWorld(node, backend, issuer, `http://localhost:${port}`, options, first);
  }

  /** Stops it, and what was added. */
  async stop(): Promise<void> {
    for (const node of [...this.nodes, this.trailgate]) await node.stop();
    await this.backend.stop();
  }

  async newAccount(): Promise<string> {
    return (await this.first.admin.createAccount({ plan: 'starter', name: 'Isar Rafting' })).id;
  }

  /** Approves a request. @returns where the browser goes on. */
  async approve(id: string, accountId: string, change: object = {}): Promise<string> {
    const expiresAt = new Date(Date.now() + DAY_MS).toISOString();
    const body = { account_id: accountId, scopes: ['customers:read'], expires_at: expiresAt, ...change };
    const path = `/authorization-requests/${id}/approval`;
    // A token may not: a person says so.
    this.operator ??= newOperator(this.first);
    const session = this.approver ?? (await this.operator).session;
    return (await session.call<{ redirect_url: string }>('POST', path, body)).redirect_url;
  }

  /** Lists the tools with a token, as a client of the versions before. */
  listTools(token: string | undefined, url: string = this.mcpUrl): Promise<Response> {
    return this.send(token, 'tools/list', {}, url);
  }

  /** Sends a message with a token, likewise. */
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
