/**
 * Running programs that a worker keeps for its test files. Each file gets one with its own configuration, which the
 * program loads on SIGHUP in a tenth of the time of a start. Accounts, keys, logs and metrics of earlier files remain.
 * A test that counts from zero, or ends the program, starts its own (`program.ts`).
 */
import { dirname } from 'node:path';
import { configSchema } from '../../src/config/model/schema.js';
import { pathsBuiltAtStart } from '../../src/config/model/until-restart.js';
import type { Account, Page } from './admin.js';
import { eventually, preload } from './processes.js';
import { parseLogs, startTrailgate, targetsOf, type RunningTrailgate, type TrailgateOptions } from './program.js';
import { mergePatch, writeConfig, type Json } from './program-config.js';
import { keptRedisUrl } from './redis.js';

type SharedOptions = Pick<AcquireOptions, 'backend' | 'config' | 'openapi' | 'redis' | 'names'>;

export interface AcquireOptions extends TrailgateOptions {
  /** The test ends or freezes the program, or reads its memory, or all of its log or metrics. */
  readonly own?: boolean;
  /** Counts in Redis, where no other program of this worker does. */
  readonly redis?: boolean;
  /** Addresses of names that end in `.test`. */
  readonly names?: Readonly<Record<string, readonly string[]>>;
}

/** SharedTrailgate is a program that other tests use afterwards, with what a test may do with it. */
export interface SharedTrailgate extends Pick<
  RunningTrailgate,
  'gatewayUrl' | 'adminUrl' | 'adminToken' | 'admin' | 'configPath' | 'dataDir'
> {
  /** The log since the program was handed over. */
  logs(): Record<string, unknown>[];
  /** Has the program read its configuration again. */
  signal(name: 'SIGHUP'): void;
  /** Gives the program back, or stops it. */
  stop(): Promise<unknown>;
}

/** How many a worker keeps while nobody uses them. */
const MAX_IDLE = 3;
const DEFAULT_PLANS = new Set(['starter', 'pro', 'unlimited']);
/** A setting that counts from the start on: most who need another than the default need this one. */
const SHARED_CONFIG = { usage: { flushInterval: '100ms' } };
const BUILT_AT_START = pathsBuiltAtStart(configSchema);

/** A program that nobody uses. */
interface Idle {
  /** Name of the settings that it was started with and cannot take over later. */
  readonly kind: string;
  readonly program: RunningTrailgate;
}

/** The one that was used last stands last. */
let idle: Idle[] = [];
let documents = 0;

/**
 * Provides a running program: a kept one with this configuration, or a new one if the options have arguments, an
 * environment or roles. `stop` returns it, or stops it.
 */
export function acquireTrailgate(options: AcquireOptions & { readonly own: true }): Promise<RunningTrailgate>;
export function acquireTrailgate(options?: AcquireOptions): Promise<SharedTrailgate>;
export async function acquireTrailgate(options: AcquireOptions = {}): Promise<SharedTrailgate> {
  const { own = false, redis = false, names, ...rest } = options;
  const { backend: _, config: __, openapi: ___, env: given = {}, ...process } = rest;
  if (!own && Object.values({ ...given, ...process }).every((value) => value === undefined)) {
    return share({ ...options, config: mergePatch(SHARED_CONFIG, options.config ?? {}) as Json });
  }
  const env = { ...(redis ? { REDIS_URL: await keptRedisUrl() } : {}), ...(names && namesOf(names)), ...given };
  return startTrailgate({ ...rest, env });
}

function namesOf(names: NonNullable<AcquireOptions['names']>): Record<string, string> {
  return {
    ...preload('names-of-program.mjs'),
    TRAILGATE_TEST_NAMES: Object.entries(names)
      .map(([name, addresses]) => `${name}=${addresses.join('+')}`)
      .join(),
  };
}

async function share(options: SharedOptions): Promise<SharedTrailgate> {
  const kind = kindOf(options);
  const program = (await takeOver(kind, options)) ?? (await acquireTrailgate({ ...options, own: true }));
  let kept: readonly string[] | undefined;
  return {
    gatewayUrl: program.gatewayUrl,
    adminUrl: program.adminUrl,
    adminToken: program.adminToken,
    admin: program.admin,
    configPath: program.configPath,
    dataDir: program.dataDir,
    logs: () => parseLogs(kept ?? program.stdout),
    signal: program.signal,
    async stop() {
      if (kept !== undefined) return;
      kept = [...program.stdout];
      await giveBack({ kind, program }, options).catch(() => program.kill9());
    },
  };
}

/** The settings that count from the start on. */
function kindOf({ config = {}, redis = false, names }: SharedOptions): string {
  const valueAt = (path: readonly string[]): unknown =>
    path.reduce<unknown>((within, name) => (within as Json | null | undefined)?.[name], config);
  return JSON.stringify([redis, names, ...BUILT_AT_START.map((path) => valueAt(path) ?? null)]);
}

/** @returns one that has the configuration in force; undefined where none is idle, or where it does not take it over. */
async function takeOver(kind: string, options: SharedOptions): Promise<RunningTrailgate | undefined> {
  const found = idle.findLast((each) => each.kind === kind);
  if (found === undefined) return undefined;
  idle = idle.filter((each) => each !== found);
  try {
    await reconfigure(found.program, options);
    return found.program;
  } catch {
    await found.program.kill9();
    return undefined;
  }
}

async function reconfigure(program: RunningTrailgate, options: SharedOptions): Promise<void> {
  const targets = targetsOf(options);
  program.stdout.length = 0;
  // With a new document and a file that comes in one step no reload finds half of them.
  writeConfig(dirname(program.configPath), { ...options, targets, document: `backend-${++documents}.openapi.yaml` });
  program.signal('SIGHUP');
  await eventually('the program has taken the configuration over', () => {
    const logs = parseLogs(program.stdout);
    if (!program.isRunning() || logs.some(({ event }) => event === 'config_refused')) throw new Error('not taken over');
    return logs.some(
      ({ event, services }) => event === 'config_changed' && String((services as Json)['backend']) === String(targets),
    );
  });
}

/** Keeps it for the next file; too many are stopped. */
async function giveBack({ kind, program }: Idle, { config }: SharedOptions): Promise<void> {
  if (!program.isRunning()) return;
  if (config?.['plans'] !== undefined) await leavePlans(program);
  idle.push({ kind, program });
  if (idle.length > MAX_IDLE) await idle.shift()?.program.stop();
}

/** Moves accounts to a plan that every configuration has: one that accounts are on cannot go. */
async function leavePlans({ admin }: RunningTrailgate): Promise<void> {
  let query = '?limit=100';
  for (let more = true; more;) {
    const page = await admin.call<Page<Account>>('GET', `/accounts${query}`);
    for (const { id, plan } of page.data) {
      if (!DEFAULT_PLANS.has(plan)) await admin.updateAccount(id, { plan: 'unlimited' });
    }
    more = page.has_more;
    query = `?limit=100&cursor=${page.next_cursor}`;
  }
}
