/**
 * Keeps running programs that the test files of a worker share. Each file gets a program with its own configuration.
 * The program loads it on SIGHUP, in a tenth of the time of a start. Accounts, keys, logs and metrics of earlier files
 * remain. A test that counts from zero, or ends the program, must start its own (`own`, or `program.ts`).
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
  /** Starts a program only for this test. For tests that end or freeze it, or read its memory, whole log or metrics. */
  readonly own?: boolean;
  /** Connects the program to Redis, with the worker's second database number (`keptRedisUrl`). */
  readonly redis?: boolean;
  /** Addresses to which the program resolves host names, such as names that end in `.test`. */
  readonly names?: Readonly<Record<string, readonly string[]>>;
}

/** SharedTrailgate is a program that other tests use afterwards. It has only what a test may use of it. */
export interface SharedTrailgate extends Pick<
  RunningTrailgate,
  'gatewayUrl' | 'adminUrl' | 'adminToken' | 'admin' | 'configPath' | 'dataDir'
> {
  /** Returns the log since the program was acquired. */
  logs(): Record<string, unknown>[];
  /** Makes the program reload its configuration. */
  signal(name: 'SIGHUP'): void;
  /** Returns the program for later tests, or stops it. */
  stop(): Promise<unknown>;
}

/** Maximum number of unused programs that a worker keeps. */
const MAX_IDLE = 3;
const DEFAULT_PLANS = new Set(['starter', 'pro', 'unlimited']);
/** A setting that takes effect only at a start. Most tests that change such a setting need this value. */
const SHARED_CONFIG = { usage: { flushInterval: '100ms' } };
const BUILT_AT_START = pathsBuiltAtStart(configSchema);

/** Idle is a program that no test uses. */
interface Idle {
  /** Key of the settings that a reload cannot change. Only tests with the same key can use the program. */
  readonly kind: string;
  readonly program: RunningTrailgate;
}

/** Programs that no test uses. The most recently used one is last. */
let idle: Idle[] = [];
let documents = 0;

/**
 * Provides a running program with this configuration. It is a new one with `own`, and if the options contain arguments,
 * environment variables or roles. Otherwise it is a shared one. The caller must call `stop`, which returns or stops it.
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

/** Returns a key of the settings that a reload cannot change. */
function kindOf({ config = {}, redis = false, names }: SharedOptions): string {
  const valueAt = (path: readonly string[]): unknown =>
    path.reduce<unknown>((within, name) => (within as Json | null | undefined)?.[name], config);
  return JSON.stringify([redis, names, ...BUILT_AT_START.map((path) => valueAt(path) ?? null)]);
}

/** Loads the configuration into an idle program. @returns the program, or undefined if none is idle or this fails. */
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
  // The document gets a new name and `gateway.yaml` is replaced atomically, so no reload reads half of them.
  writeConfig(dirname(program.configPath), { ...options, targets, document: `backend-${++documents}.openapi.yaml` });
  program.signal('SIGHUP');
  await eventually('the program has loaded the configuration', () => {
    const logs = parseLogs(program.stdout);
    if (!program.isRunning() || logs.some(({ event }) => event === 'config_refused'))
      throw new Error('the program did not load the configuration');
    return logs.some(
      ({ event, services }) => event === 'config_changed' && String((services as Json)['backend']) === String(targets),
    );
  });
}

/** Keeps the program for the next file. If there are too many, stops the one that was unused for the longest time. */
async function giveBack({ kind, program }: Idle, { config }: SharedOptions): Promise<void> {
  if (!program.isRunning()) return;
  if (config?.['plans'] !== undefined) await leavePlans(program);
  idle.push({ kind, program });
  if (idle.length > MAX_IDLE) await idle.shift()?.program.stop();
}

/** Moves accounts to a plan that every configuration has, because a plan that is in use cannot be removed. */
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
