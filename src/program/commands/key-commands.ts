/** `trailgate keys …`: API keys and their life. */
import type { Command } from 'commander';
import { CommandError, path, type Fields } from './admin-client.js';
import { collectList, parseKeyLimit, parseLimit, parseOverlap } from './options.js';
import { clientAction, showFields, showRows, type CommonOptions, type Terminal } from './terminal.js';

const KEY_COLUMNS = ['id', 'name', 'status', 'hint', 'scopes', 'expires_at', 'last_used_at', 'month_used'];
const SHOWN_ONCE = 'The secret is shown only now: store it where the integrator will find it, and nowhere else.\n';

interface KeyOptions extends CommonOptions {
  readonly name?: string;
  readonly scope?: readonly string[];
  readonly environment?: string;
  /** False: `--no-expiry`. */
  readonly expiry?: boolean;
  readonly expiresAt?: string;
  readonly allowIp?: readonly string[];
  readonly anyIp?: boolean;
  readonly minuteLimit?: number | 'none';
  readonly monthLimit?: number | 'none';
  readonly planLimits?: boolean;
}

interface RotateOptions extends CommonOptions {
  readonly overlap: number;
  readonly endPrevious?: boolean;
}

interface ListOptions extends CommonOptions {
  readonly limit: number;
  readonly search?: string;
  readonly status?: string;
  readonly sort?: string;
  readonly order?: string;
}

/** The fields that were named; JSON leaves undefined out. */
function keyFields(options: KeyOptions): Fields {
  if (options.expiry === false && options.expiresAt !== undefined) {
    throw new CommandError('--expires-at and --no-expiry exclude each other.');
  }
  return {
    name: options.name,
    scopes: options.scope,
    environment: options.environment,
    expires_at: options.expiry === false ? null : options.expiresAt,
    allowed_ips: options.anyIp === true ? [] : options.allowIp,
    limits: limitsOf(options),
  };
}

/** Undefined where no limit is named; null for the plan's. */
function limitsOf({ minuteLimit, monthLimit, planLimits }: KeyOptions): Fields | null | undefined {
  const isNamed = minuteLimit !== undefined || monthLimit !== undefined;
  const ofApi = (limit: number | 'none' | undefined): number | null | undefined => (limit === 'none' ? null : limit);
  if (planLimits !== true) return isNamed ? { minute: ofApi(minuteLimit), month: ofApi(monthLimit) } : undefined;
  if (isNamed) throw new CommandError('--plan-limits excludes --minute-limit and --month-limit.');
  return null;
}

function withLimits(command: Command): Command {
  return command
    .option('--minute-limit <n>', "its own limit per minute instead of the plan's, or none", parseKeyLimit)
    .option('--month-limit <n>', "its own limit per month instead of the plan's, or none", parseKeyLimit);
}

export function addKeyCommands(program: Command, terminal: Terminal): void {
  const keys = program.command('keys').description('the API keys of an account');
  const list = keys
    .command('list')
    .description('list the keys of an account, the revoked ones too')
    .argument('<account>', 'id of the account')
    .option('--search <text>', 'part of a name, or the end of a secret')
    .option('--status <status>', 'active, paused, expired or revoked; some of them with commas between them')
    .option('--sort <by>', 'created, name or last_used')
    .option('--order <order>', 'asc or desc')
    .option('--limit <n>', 'most rows', parseLimit, 100);
  clientAction<ListOptions>(
    list,
    terminal,
    async (client, [id = ''], { limit, search, status, sort, order, ...options }) => {
      const query = { q: search, status, sort, order };
      return showRows(KEY_COLUMNS, await client.rows(path('accounts', id, 'api-keys'), limit, query), options);
    },
  );
  clientAction(keyCommand(keys, 'get', 'show a key'), terminal, async (client, [id = ''], options) =>
    showFields(await client.call(path('api-keys', id)), options),
  );
  addCreate(keys, terminal);
  addUpdate(keys, terminal);
  const rotate = keyCommand(keys, 'rotate', 'give a key a new secret')
    .requiredOption('--overlap <time>', 'how long the current secret keeps working: 0, 1h, 24h or 7d', parseOverlap)
    .option('--end-previous', 'end a previous secret that still works');
  clientAction<RotateOptions>(rotate, terminal, async (client, [id = ''], options) => {
    const body = { overlap_seconds: options.overlap, end_previous_secret: options.endPrevious };
    const shown = showFields(await client.call(path('api-keys', id, 'rotate'), { method: 'POST', body }), options);
    terminal.err(SHOWN_ONCE);
    return shown;
  });
  const end = keyCommand(keys, 'end-previous-secret', 'end the previous secret of a rotation at once');
  clientAction(end, terminal, async (client, [id = ''], options) =>
    showFields(await client.call(path('api-keys', id, 'end-previous-secret'), { method: 'POST' }), options),
  );
  addPause(keys, terminal);
  const revoke = keyCommand(keys, 'revoke', 'end a key for good');
  clientAction(revoke, terminal, async (client, [id = ''], options) =>
    showFields(await client.call(path('api-keys', id), { method: 'DELETE' }), options),
  );
}

function addPause(keys: Command, terminal: Terminal): void {
  const ways = { pause: 'refuse a key until it goes on', resume: 'let a paused key go on as it is' };
  for (const [name, what] of Object.entries(ways)) {
    clientAction(keyCommand(keys, name, what), terminal, async (client, [id = ''], options) =>
      showFields(await client.call(path('api-keys', id, name), { method: 'POST' }), options),
    );
  }
}

function keyCommand(keys: Command, name: string, what: string): Command {
  return keys.command(name).description(what).argument('<key>', 'id of the key');
}

function addCreate(keys: Command, terminal: Terminal): void {
  const create = keys
    .command('create')
    .description('create a key; its secret is shown once')
    .argument('<account>', 'id of the account')
    .requiredOption('--name <name>', 'a name for people')
    .requiredOption('--scope <scope>', 'a scope; may be repeated', collectList)
    .option('--environment <environment>', 'live or test')
    .option('--expires-at <time>', 'RFC 3339 time at which it stops working')
    .option('--allow-ip <address>', 'an address or block that may use it; may be repeated', collectList);
  clientAction<KeyOptions>(withLimits(create), terminal, async (client, [id = ''], options) => {
    const body = keyFields(options);
    const shown = showFields(await client.call(path('accounts', id, 'api-keys'), { method: 'POST', body }), options);
    terminal.err(SHOWN_ONCE);
    return shown;
  });
}

function addUpdate(keys: Command, terminal: Terminal): void {
  const update = keyCommand(keys, 'update', 'change a key; what is not named stays')
    .option('--name <name>', 'a name for people')
    .option('--scope <scope>', 'all the scopes that it shall have; may be repeated', collectList)
    .option('--expires-at <time>', 'RFC 3339 time at which it stops working')
    .option('--no-expiry', 'it never expires')
    .option('--allow-ip <address>', 'all the addresses that may use it; may be repeated', collectList)
    .option('--any-ip', 'any address may use it')
    .option('--plan-limits', "the plan's limits again");
  clientAction<KeyOptions>(withLimits(update), terminal, async (client, [id = ''], options) =>
    showFields(await client.call(path('api-keys', id), { method: 'PATCH', body: keyFields(options) }), options),
  );
}
