/**
 * `npm start`: the reference deployment on one machine. Trailgate with all roles, the customers backend as a process of its
 * own, a demo account with seeded customers, and a first request to copy.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from './clock.js';
import { childEnvironment } from './config/environment.js';
import type { Config } from './config/schema.js';
import type { DatabaseHandle } from './database/connect.js';
import type { AccountStore } from './keys/accounts.js';
import type { Log } from './log.js';
import { ROLES } from './roles.js';
import { start, type Running } from './start.js';
import { StartError } from './start-error.js';

const DEMO_ACCOUNT = 'demo_account';
const DEMO_KEY_LIFETIME_MS = 7 * 86_400_000;
const BACKEND_START_TIMEOUT_MS = 60_000;
const CONTEXT = { actor: 'npm start', ip: '127.0.0.1', requestId: 'npm-start' };

/** Starts everything and prints where it is. Rejects as `start` does. */
export async function startDemo(config: Config, log: Log): Promise<{ stop(): Promise<void> }> {
  const running = await start(config, ROLES, log);
  let backend: ChildProcess | undefined;
  try {
    const accountId = await demoAccount(running.database, running.accounts, config);
    backend = await startCustomers(config, accountId);
    const secret = await demoKey(running, accountId, config);
    await log.flush(1_000);
    printWelcome(config, running, secret);
  } catch (error) {
    backend?.kill();
    await running.stop();
    throw error;
  }
  const child = backend;
  child.once('exit', (code) => {
    log.logger.error(
      { event: 'customers_backend_ended', code },
      'The customers backend has ended; requests to it get 502',
    );
  });
  return {
    stop: async () => {
      // Ctrl-C in a terminal reaches the backend too: from here on its end is no error.
      child.removeAllListeners('exit');
      await running.stop();
      if (child.exitCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** The account that the seeded customers belong to; made at the first start, found again later. */
async function demoAccount({ db }: DatabaseHandle, accounts: AccountStore, config: Config): Promise<string> {
  const kept = await db.selectFrom('installation').select('value').where('name', '=', DEMO_ACCOUNT).executeTakeFirst();
  if (kept !== undefined) return kept.value;
  const [plan] = Object.keys(config.file.plans);
  if (plan === undefined) throw new StartError('gateway.yaml has no plan for the demo account: add one under plans.');
  const account = await accounts.create(
    { name: 'Alpine River Tours (demo)', plan, time_zone: 'Europe/Berlin', billing_day: 1 },
    CONTEXT,
  );
  await db.insertInto('installation').values({ name: DEMO_ACCOUNT, value: account.id }).execute();
  return account.id;
}

/** A fresh key for this start. Secrets are not kept, so an earlier one cannot be shown again; each ends by itself. */
async function demoKey(running: Running, accountId: string, config: Config): Promise<string> {
  const resources = config.operations.flatMap(({ scopes }) => scopes);
  const { secret } = await running.keyStore.create(
    accountId,
    {
      name: 'npm start',
      scopes: resources.length > 0 ? [...new Set(resources)].toSorted() : ['*'],
      environment: 'live',
      expires_at: new Date(systemClock.now() + DEMO_KEY_LIFETIME_MS).toISOString(),
      allowed_ips: [],
      limits: null,
    },
    CONTEXT,
  );
  return secret;
}

async function startCustomers({ environment }: Config, accountId: string): Promise<ChildProcess> {
  const main = fileURLToPath(new URL('customers/main.js', import.meta.url));
  const child = spawn(process.execPath, ['--enable-source-maps', main], {
    // The channel tells the backend when this process is gone, whatever ended it.
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: childEnvironment({
      TRAILGATE_CUSTOMERS_PORT: String(environment.customersPort ?? 4001),
      CUSTOMERS_DATA_DIR: join(environment.dataDir, 'customers'),
      CUSTOMERS_SEED_ACCOUNTS: accountId,
    }),
  });
  const listening = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout ?? process.stdin }).on('line', (line) => {
      if (line.includes('"listening"')) resolve();
    });
  });
  const ended = once(child, 'exit').then(() =>
    Promise.reject(new StartError('The customers backend did not start, see above.')),
  );
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new StartError('The customers backend did not start in time.')),
      BACKEND_START_TIMEOUT_MS,
    );
  });
  try {
    await Promise.race([listening, ended, late]);
  } catch (error) {
    child.kill();
    throw error;
  } finally {
    clearTimeout(timer);
    ended.catch(() => undefined);
  }
  return child;
}

function printWelcome(config: Config, running: Running, secret: string): void {
  const base = `${running.gatewayUrl}${config.file.api.basePath}`;
  process.stdout.write(
    `
  Trailgate is running.

    API       ${base}
    Reference ${running.gatewayUrl}/docs
    Admin API ${running.adminUrl}/admin/v1   (token: ${join(config.environment.dataDir, 'admin-token')})
    Metrics   ${running.adminUrl}/metrics

  Your first request, with a key that is shown only now and works for seven days:

    curl -i '${base}/customers?limit=10' -H 'Authorization: Bearer ${secret}'

`,
  );
}
