/**
 * Runs `npm start`, a demo on one machine. Starts Trailgate with all roles and the customers backend as a separate
 * process. Creates a demo account with customers, and prints a first request to copy.
 */
import { apisOf } from '../config/model/apis.js';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../platform/clock.js';
import { INTAKE_PATH } from '../admin/intake/intake.controller.js';
import type { AdminConfig } from '../config/model/admin-schema.js';
import { childEnvironment } from '../config/model/environment.js';
import type { LoadedConfig } from '../config/model/loaded-config.js';
import type { Config } from '../config/model/schema.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { AccountStore } from '../accounts/accounts.js';
import type { Log } from '../platform/log.js';
import type { Customers } from './modules.js';
import { ONE_PROCESS, ROLES } from './roles.js';
import { ShutdownBegun, type Shutdown } from '../platform/shutdown.js';
import { demoLink } from './first-sign-in.js';
import { start, type Running } from './start.js';
import { StartError } from '../platform/start-error.js';

const DEMO_ACCOUNT = 'demo_account';
const DEMO_KEY_LIFETIME_MS = 7 * 86_400_000;
const BACKEND_START_TIMEOUT_MS = 60_000;
const CONTEXT = { actor: 'system', ip: '127.0.0.1', requestId: 'npm-start' };

/**
 * Starts the demo and prints its URLs. Rejects like `start`, and with `StartError` if the demo account or the backend
 * cannot be started.
 */
export async function startDemo(config: LoadedConfig, log: Log, shutdown: Shutdown): Promise<void> {
  let backend: ChildProcess | undefined;
  // The shutdown runs phases in reverse order. This phase is added first and so runs last, because the gateway's last
  // requests need the backend.
  shutdown.add('stop customers', async () => {
    if (backend !== undefined) await stopCustomers(backend);
  });
  let accountId = '';
  const startBackend = async ({ database, accounts }: Customers): Promise<void> => {
    accountId = await demoAccount(database, accounts, config);
    if (shutdown.hasBegun) throw new ShutdownBegun();
    backend = spawnCustomers(config, accountId);
    await untilListening(backend);
    backend.once('exit', (code) => {
      // Ctrl-C in a terminal also ends the backend. That is not an error.
      if (shutdown.hasBegun) return;
      log.logger.error(
        { event: 'customers_backend_ended', code },
        'The customers backend has ended; requests to it get 502',
      );
    });
  };
  const running = await start(config, ROLES, log, shutdown, ONE_PROCESS, startBackend);
  try {
    const secret = await demoKey(running, accountId, config);
    const panelLink = await demoLink(running);
    await log.flush(1_000);
    printWelcome(config, running, secret, panelLink);
  } catch (error) {
    await shutdown.run();
    throw error;
  }
}

async function stopCustomers(backend: ChildProcess): Promise<void> {
  if (backend.exitCode !== null || backend.signalCode !== null) return;
  backend.kill('SIGTERM');
  await once(backend, 'exit');
}

/** Returns the ID of the demo account. Creates the account at the first start. */
async function demoAccount({ db }: DatabaseHandle, accounts: AccountStore, config: Config): Promise<string> {
  const found = await db.selectFrom('installation').select('value').where('name', '=', DEMO_ACCOUNT).executeTakeFirst();
  if (found !== undefined) return found.value;
  const [plan] = Object.keys(config.file.plans);
  if (plan === undefined) throw new StartError('gateway.yaml has no plan for the demo account: add one under plans.');
  const account = await accounts.create(
    { name: 'Alpine River Tours (demo)', plan, time_zone: 'Europe/Berlin', billing_day: 1 },
    CONTEXT,
  );
  await db.insertInto('installation').values({ name: DEMO_ACCOUNT, value: account.id }).execute();
  return account.id;
}

/**
 * Creates a key for this start and returns its secret. Earlier secrets cannot be shown again, because the database
 * contains only their hashes. The key expires after a week.
 */
async function demoKey(running: Running, accountId: string, config: Config): Promise<string> {
  const operationScopes = config.operations.flatMap(({ scopes }) => scopes);
  const { secret } = await running.keyStore.create(
    accountId,
    {
      name: 'Example in the terminal',
      scopes: operationScopes.length > 0 ? [...new Set(operationScopes)].toSorted() : ['*'],
      environment: 'live',
      expires_at: new Date(systemClock.now() + DEMO_KEY_LIFETIME_MS).toISOString(),
      allowed_ips: [],
      limits: null,
    },
    CONTEXT,
  );
  return secret;
}

function spawnCustomers({ environment, file }: Config, accountId: string): ChildProcess {
  const main = fileURLToPath(new URL('../customers/main.js', import.meta.url));
  return spawn(process.execPath, [main], {
    // The IPC channel closes when this process ends, which tells the backend to end too.
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: childEnvironment({
      TRAILGATE_CUSTOMERS_PORT: String(environment.customersPort ?? 4001),
      CUSTOMERS_DATA_DIR: join(environment.dataDir, 'customers'),
      CUSTOMERS_SEED_ACCOUNTS: accountId,
      CUSTOMERS_EVENTS_URL: `${localUrlOf(file.admin)}${INTAKE_PATH}`,
    }),
  });
}

/**
 * Returns the local URL of the admin listener, with the configured port. `port: 0` remains 0, because the port is not
 * known yet.
 */
function localUrlOf({ host, port, tls }: AdminConfig): string {
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const name = isEverywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `${tls === undefined ? 'http' : 'https'}://${name}:${port}`;
}

/** Waits until the backend listens. Rejects with `StartError` if the backend ends or exceeds the timeout first. */
async function untilListening(child: ChildProcess): Promise<void> {
  const listens = new Promise<void>((resolve) => {
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
    await Promise.race([listens, ended, late]);
  } finally {
    clearTimeout(timer);
    ended.catch(() => undefined);
  }
}

function printWelcome(config: Config, running: Running, secret: string, panelLink: string): void {
  // If standard output is closed, the program continues without the message.
  process.stdout.on('error', () => undefined);
  const base = `${running.gatewayUrl}${apisOf(config.file)[0]?.basePath}`;
  process.stdout.write(
    `
  Trailgate is running.

    Panel     ${panelLink}   (signs you in, once, within 15 minutes)
    API       ${base}
    Reference ${running.gatewayUrl}/docs
    Admin API ${running.adminUrl}/admin/v1   (token: ${join(config.environment.dataDir, 'admin-token')})
    Metrics   ${running.adminUrl}/metrics

  Your first request, with a key that is shown only now and works for seven days:

    curl -i '${base}/customers?limit=10' -H 'Authorization: Bearer ${secret}'

`,
  );
}
