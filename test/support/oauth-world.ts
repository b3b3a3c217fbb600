/** A program with an authorization server, a browser that goes to it, and a person in the panel who decides. */
import { startBackend, json, type Backend } from './backend.js';
import { DAY_MS, OAuthSteps } from './oauth-steps.js';
import { freePort } from './processes.js';
import { startTrailgate, type RunningTrailgate, type TrailgateOptions } from './program.js';
import type { Json } from './program-config.js';

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

/** OAuthWorld is all of it. */
export class OAuthWorld extends OAuthSteps {
  private constructor(
    readonly trailgate: RunningTrailgate,
    readonly backend: Backend,
    /** The origin of the authorization server. */
    readonly issuer: string,
  ) {
    super();
  }

  static async start(oauth: Json = {}, config: Json = {}, more: Partial<TrailgateOptions> = {}): Promise<OAuthWorld> {
    const port = await freePort();
    const issuer = `http://localhost:${port}`;
    const backend = await startBackend(json({ data: [] }));
    const trailgate = await startTrailgate({
      backend: backend.url,
      openapi: OPENAPI,
      ...more,
      config: {
        admin: { port: await freePort() },
        mcp: { oauth: { publicUrl: issuer, port, registration: true, ...oauth } },
        gateway: { trustedProxies: ['127.0.0.1', '::1'] },
        ...config,
      },
    });
    return new OAuthWorld(trailgate, backend, issuer);
  }

  async stop(): Promise<void> {
    await this.trailgate.stop();
    await this.backend.stop();
  }

  async newAccount(): Promise<string> {
    return (await this.trailgate.admin.createAccount({ plan: 'starter', name: 'Isar Rafting' })).id;
  }

  /** Says yes, as an operator. @returns where the browser goes on. */
  async approve(id: string, accountId: string, change: object = {}): Promise<string> {
    const expiresAt = new Date(Date.now() + DAY_MS).toISOString();
    const body = { account_id: accountId, scopes: ['customers:read'], expires_at: expiresAt, ...change };
    const path = `/authorization-requests/${id}/approval`;
    return (await this.trailgate.admin.call<{ redirect_url: string }>('POST', path, body)).redirect_url;
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
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
  }
}
