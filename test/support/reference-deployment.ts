/**
 * Runs the deployment of `gateway.yaml` as users do: the customers backend and the program, on free ports. Provides a
 * key without limits.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse, stringify } from 'yaml';
import { startCustomers } from './customers.js';
import { temporaryFolder } from './processes.js';
import { mergePatch } from './program-config.js';
import { startTrailgate, type RunningTrailgate } from './program.js';

/** Public URL in the published documents. Fixed, so that they do not depend on the ports of a run. */
const PUBLIC_URL = 'https://api.trailgate.test';

export interface ReferenceDeployment {
  readonly gateway: RunningTrailgate;
  /** Base URL of the operations. */
  readonly apiUrl: string;
  readonly accountId: string;
  readonly keyId: string;
  /** Secret of a key with all scopes. */
  readonly secret: string;
  /** Returns the published OpenAPI documents of the API and the admin API, as text. */
  documents(): Promise<{ readonly public: string; readonly admin: string }>;
  stop(): Promise<void>;
}

/** Starts the backend and the program. The caller must stop them. */
export async function startReferenceDeployment(): Promise<ReferenceDeployment> {
  const folder = temporaryFolder('reference');
  const customers = await startCustomers({ TRAILGATE_DATA_DIR: folder });
  const config = join(folder, 'gateway.yaml');
  const changes = {
    gateway: { host: '127.0.0.1', port: 0, failedAuthentication: { perMinute: 0 } },
    admin: { port: 0, portal: { returnOrigins: ['https://app.example.com'] } },
    api: { publicUrl: PUBLIC_URL },
    services: { customers: { targets: [customers.url], openapi: resolve('customers.openapi.yaml') } },
    plans: { unlimited: {}, one_a_minute: { key: { minute: 1 } } },
  };
  writeFileSync(config, stringify(mergePatch(parse(readFileSync('gateway.yaml', 'utf8')), changes)));
  const gateway = await startTrailgate({ args: ['--config', config] });
  const { account, key } = await gateway.admin.newKey('unlimited', { scopes: ['*'] });
  const textOf = async (url: string, token: string) =>
    (await fetch(url, { headers: { Authorization: `Bearer ${token}` } })).text();
  const apiUrl = `${gateway.gatewayUrl}/api/v1`;
  return {
    gateway,
    apiUrl,
    accountId: account.id,
    keyId: key.id,
    secret: key.secret,
    documents: async () => ({
      public: await textOf(`${apiUrl}/openapi.json`, key.secret),
      admin: await textOf(`${gateway.adminUrl}/admin/v1/openapi.json`, gateway.adminToken),
    }),
    stop: async () => {
      await gateway.stop();
      await customers.stop();
    },
  };
}
