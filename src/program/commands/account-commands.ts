/** `trailgate accounts …`, and `usage` and `audit`, which are about accounts. */
import type { Command } from 'commander';
import { path } from './admin-client.js';
import { parseDay, parseLimit } from './options.js';
import { clientAction, showFields, showRows, type CommonOptions, type Terminal } from './terminal.js';

const ACCOUNT_COLUMNS = ['id', 'name', 'plan', 'status', 'time_zone', 'billing_day'];
const THRESHOLD_COLUMNS = ['data.policy', 'data.threshold_percent', 'data.used', 'data.limit'];
const EVENT_COLUMNS = ['created_at', 'type', 'resource', ...THRESHOLD_COLUMNS, 'id'];
const AUDIT_COLUMNS = ['created_at', 'actor', 'action', 'target.id', 'ip', 'request_id'];
const WINDOW_COLUMNS = ['policy', 'limit', 'used', 'remaining', 'resets_at'];

interface ListOptions extends CommonOptions {
  readonly limit: number;
}

interface AccountOptions extends CommonOptions {
  readonly name?: string;
  readonly plan?: string;
  readonly timeZone?: string;
  readonly billingDay?: number;
}

interface UsageOptions extends ListOptions {
  readonly key?: string;
  readonly shadow?: boolean;
  readonly groupBy?: string;
  readonly from?: string;
  readonly to?: string;
  readonly csv?: boolean;
}

/** The fields that were named; JSON leaves undefined out. */
function accountFields({ name, plan, timeZone, billingDay }: AccountOptions): Record<string, unknown> {
  return { name, plan, time_zone: timeZone, billing_day: billingDay };
}

export function addAccountCommands(program: Command, terminal: Terminal): void {
  const accounts = program.command('accounts').description('the accounts: tenants of the API');
  const list = accounts
    .command('list')
    .description('list the accounts')
    .option('--limit <n>', 'most rows', parseLimit, 100);
  clientAction<ListOptions>(list, terminal, async (client, _args, options) =>
    showRows(ACCOUNT_COLUMNS, await client.rows(path('accounts'), options.limit), options),
  );
  clientAction(
    accounts.command('get').description('show an account').argument('<account>', 'id of the account'),
    terminal,
    async (client, [id = ''], options) => showFields(await client.call(path('accounts', id)), options),
  );
  addEventsCommand(accounts, terminal);
  const create = accounts
    .command('create')
    .description('create an account')
    .requiredOption('--name <name>', 'a name for people')
    .requiredOption('--plan <plan>', 'a plan of the configuration');
  clientAction<AccountOptions>(withCalendar(create), terminal, async (client, _args, options) =>
    showFields(await client.call(path('accounts'), { method: 'POST', body: accountFields(options) }), options),
  );
  const update = accounts
    .command('update')
    .description('change an account')
    .argument('<account>', 'id of the account')
    .option('--name <name>', 'a name for people')
    .option('--plan <plan>', 'a plan of the configuration');
  clientAction<AccountOptions>(withCalendar(update), terminal, async (client, [id = ''], options) =>
    showFields(await client.call(path('accounts', id), { method: 'PATCH', body: accountFields(options) }), options),
  );
  addStatusCommand(accounts, terminal, 'suspend', 'suspended', 'refuse all keys of an account until it is activated');
  addStatusCommand(accounts, terminal, 'activate', 'active', 'let the keys of a suspended account work again');
}

function addEventsCommand(accounts: Command, terminal: Terminal): void {
  const events = accounts
    .command('events')
    .description('list what the gateway has had to tell an account, newest first')
    .argument('<account>', 'id of the account')
    .option('--limit <n>', 'most rows', parseLimit, 50);
  clientAction<ListOptions>(events, terminal, async (client, [id = ''], options) =>
    showRows(EVENT_COLUMNS, await client.rows(path('accounts', id, 'events'), options.limit), options),
  );
}

function withCalendar(command: Command): Command {
  return command
    .option('--time-zone <zone>', 'IANA time zone such as Europe/Vienna')
    .option('--billing-day <day>', 'day on which the billing period starts', parseDay);
}

function addStatusCommand(accounts: Command, terminal: Terminal, name: string, status: string, what: string): void {
  const command = accounts.command(name).description(what).argument('<account>', 'id of the account');
  clientAction(command, terminal, async (client, [id = ''], options) =>
    showFields(await client.call(path('accounts', id), { method: 'PATCH', body: { status } }), options),
  );
}

export function addUsageCommands(program: Command, terminal: Terminal): void {
  const get = program
    .command('usage')
    .description('limits and usage')
    .command('get')
    .description('show what an account, or one of its keys, has used')
    .argument('<account>', 'id of the account')
    .option('--key <key>', 'id of a key of the account')
    .option('--group-by <names>', 'sums by some of month, day, api_key, operation, outcome, with commas between them')
    .option('--from <day>', 'first day of the sums, 2026-11-01; the first of the period unless said')
    .option('--to <day>', 'last day of the sums; today unless said')
    .option('--shadow', "sums of what the plan's shadow limits would have refused")
    .option('--csv', 'print the sums as CSV')
    .option('--limit <n>', 'most rows of the sums', parseLimit, 1_000);
  clientAction<UsageOptions>(get, terminal, async (client, [id = ''], options) => {
    const { key, groupBy, from, to, limit } = options;
    const shadow = options.shadow === true ? 'true' : undefined;
    const query = { api_key_id: key, group_by: groupBy, from, to, shadow };
    const target = path('accounts', id, 'usage');
    if (options.csv === true) return client.text(target, { ...query, format: 'csv' });
    if (groupBy !== undefined) {
      return showRows(usageColumns(groupBy), await client.rows(target, limit, query), options);
    }
    const usage = await client.call(target, { query });
    if (options.json === true) return showFields(usage, options);
    const rows = showRows(WINDOW_COLUMNS, { data: usage['windows'] as [], has_more: false }, options);
    return usage['approximate'] === true ? `${rows}approximate: the counters cannot be asked at the moment\n` : rows;
  });
}

/** The columns of sums, in the order in which the API sorts them. */
function usageColumns(groupBy: string): string[] {
  const asked = groupBy.split(',').map((name) => name.trim());
  const groups = ['month', 'day', 'api_key', 'operation', 'outcome'].filter((name) => asked.includes(name));
  return [...groups.map((name) => (name === 'api_key' ? 'api_key_id' : name)), 'requests', 'cost'];
}

export function addAuditCommands(program: Command, terminal: Terminal): void {
  const list = program
    .command('audit')
    .description('the audit log')
    .command('list')
    .description('list the changes, newest first')
    .option('--account <account>', 'only changes of this account')
    .option('--limit <n>', 'most rows', parseLimit, 50);
  clientAction<ListOptions & { readonly account?: string }>(list, terminal, async (client, _args, options) => {
    const rows = await client.rows(path('audit-log'), options.limit, { account_id: options.account });
    return showRows(AUDIT_COLUMNS, rows, options);
  });
}
