/** `trailgate accounts …`, and `usage` and `audit`, which are about accounts. */
import type { Command } from 'commander';
import type { AdminClient } from './admin-client.js';
import { addCommands, limit, option, row } from './command-table.js';
import { EXTERNAL_FIELDS, EXTERNAL_FILTERS, NO_EXTERNAL_ID, NO_METADATA, removedFields } from './external-options.js';
import { parseDay } from './options.js';
import { showFields, showRows, type CommonOptions, type Terminal } from './terminal.js';

const ACCOUNT_COLUMNS = ['id', 'name', 'plan', 'status', 'time_zone', 'billing_day'];
const THRESHOLD_COLUMNS = ['data.policy', 'data.threshold_percent', 'data.used', 'data.limit'];
const EVENT_COLUMNS = ['created_at', 'type', 'resource', ...THRESHOLD_COLUMNS, 'id'];
const AUDIT_COLUMNS = ['created_at', 'actor', 'action', 'target.id', 'ip', 'request_id'];
const WINDOW_COLUMNS = ['policy', 'limit', 'used', 'remaining', 'resets_at'];

const NAME = ['--name <name>', 'a name for people', 'name'] as const;
const PLAN = ['--plan <plan>', 'a plan of the configuration', 'plan'] as const;
const CALENDAR = [
  option('--time-zone <zone>', 'IANA time zone such as Europe/Vienna', 'time_zone'),
  option('--billing-day <day>', 'day on which the billing period starts', 'billing_day', { parse: parseDay }),
];

const ACCOUNT_COMMANDS = [
  row('list', 'list the accounts', 'listAccounts', {
    columns: ACCOUNT_COLUMNS,
    options: [
      option('--search <text>', 'part of a name, or the whole of an id or external id', 'q'),
      ...EXTERNAL_FILTERS,
      limit(100),
    ],
  }),
  row('get <account>', 'show an account', 'getAccount'),
  row('events <account>', 'list what the gateway has had to tell an account, newest first', 'listEvents', {
    columns: EVENT_COLUMNS,
    options: [limit(50)],
  }),
  row('create', 'create an account', 'createAccount', {
    options: [
      option(...NAME, { required: true }),
      option(...PLAN, { required: true }),
      ...CALENDAR,
      ...EXTERNAL_FIELDS,
    ],
  }),
  row('update <account>', 'change an account', 'updateAccount', {
    options: [option(...NAME), option(...PLAN), ...CALENDAR, ...EXTERNAL_FIELDS, NO_EXTERNAL_ID, NO_METADATA],
    fields: removedFields,
  }),
  row('suspend <account>', 'refuse all keys of an account until it is activated', 'updateAccount', {
    fields: () => ({ status: 'suspended' }),
  }),
  row('activate <account>', 'let the keys of a suspended account work again', 'updateAccount', {
    fields: () => ({ status: 'active' }),
  }),
];

const USAGE_COMMANDS = [
  row('get <account>', 'show what an account, or one of its keys, has used', 'getUsage', {
    options: [
      option('--key <key>', 'id of a key of the account', null),
      option(
        '--group-by <names>',
        'sums by some of month, day, api_key, operation, outcome, with commas between them',
        null,
      ),
      option('--from <day>', 'first day of the sums, 2026-11-01; the first of the period unless said', null),
      option('--to <day>', 'last day of the sums; today unless said', null),
      option('--shadow', "sums of what the plan's shadow limits would have refused", null),
      option('--csv', 'print the sums as CSV', null),
      limit(1_000, 'most rows of the sums'),
    ],
    run: getUsage,
  }),
];

const AUDIT_COMMANDS = [
  row('list', 'list the changes, newest first', 'listAuditLog', {
    columns: AUDIT_COLUMNS,
    options: [option('--account <account>', 'only changes of this account', 'account_id'), limit(50)],
  }),
];

/** Adds `accounts`. */
export function addAccountCommands(program: Command, terminal: Terminal): void {
  addCommands(program, terminal, 'accounts', 'the accounts: tenants of the API', ACCOUNT_COMMANDS);
}

/** Adds `usage`. */
export function addUsageCommands(program: Command, terminal: Terminal): void {
  addCommands(program, terminal, 'usage', 'limits and usage', USAGE_COMMANDS);
}

/** Adds `audit`. */
export function addAuditCommands(program: Command, terminal: Terminal): void {
  addCommands(program, terminal, 'audit', 'the audit log', AUDIT_COMMANDS);
}

interface UsageOptions extends CommonOptions {
  readonly limit: number;
  readonly key?: string;
  readonly shadow?: boolean;
  readonly groupBy?: string;
  readonly from?: string;
  readonly to?: string;
  readonly csv?: boolean;
}

async function getUsage(client: AdminClient, args: readonly string[], values: CommonOptions): Promise<string> {
  const options = values as UsageOptions;
  const { key, groupBy, from, to } = options;
  const shadow = options.shadow === true ? 'true' : undefined;
  const query = { api_key_id: key, group_by: groupBy, from, to, shadow };
  if (options.csv === true) return client.text('getUsage', args, { ...query, format: 'csv' });
  if (groupBy !== undefined) {
    return showRows(usageColumns(groupBy), await client.rows('getUsage', args, options.limit, query), options);
  }
  const usage = await client.call('getUsage', args, { query });
  if (options.json === true) return showFields(usage, options);
  const rows = showRows(WINDOW_COLUMNS, { data: usage['windows'] as [], has_more: false }, options);
  return usage['approximate'] === true ? `${rows}approximate: the counters cannot be asked at the moment\n` : rows;
}

/** The columns of sums, in the order in which the API sorts them. */
function usageColumns(groupBy: string): string[] {
  const asked = groupBy.split(',').map((name) => name.trim());
  const groups = ['month', 'day', 'api_key', 'operation', 'outcome'].filter((name) => asked.includes(name));
  return [...groups.map((name) => (name === 'api_key' ? 'api_key_id' : name)), 'requests', 'cost'];
}
