/** Defines `trailgate accounts …`, `trailgate usage …` and `trailgate audit …`. */
import type { Command } from 'commander';
import type { AdminClient } from './admin-client.js';
import { addCommands, defineCommand, limit, option } from './command-table.js';
import { EXTERNAL_FIELDS, EXTERNAL_FILTERS, NO_EXTERNAL_ID, NO_METADATA, removedFields } from './external-options.js';
import { parseDay } from './options.js';
import { showFields, showRows, type CommonOptions, type Terminal } from './terminal.js';

const ACCOUNT_COLUMNS = ['id', 'name', 'plan', 'status', 'time_zone', 'billing_day'];
const THRESHOLD_COLUMNS = ['data.policy', 'data.threshold_percent', 'data.used', 'data.limit'];
const EVENT_COLUMNS = ['created_at', 'type', 'resource', ...THRESHOLD_COLUMNS, 'id'];
const AUDIT_COLUMNS = ['created_at', 'actor', 'action', 'target.id', 'ip', 'request_id'];
const WINDOW_COLUMNS = ['policy', 'limit', 'used', 'remaining', 'resets_at'];

const NAME = ['--name <name>', 'display name', 'name'] as const;
const PLAN = ['--plan <plan>', 'plan of the configuration', 'plan'] as const;
const CALENDAR = [
  option('--time-zone <zone>', 'IANA time zone such as Europe/Vienna', 'time_zone'),
  option('--billing-day <day>', 'day of the month on which the billing period starts', 'billing_day', {
    parse: parseDay,
  }),
];

const ACCOUNT_COMMANDS = [
  defineCommand('list', 'list accounts', 'listAccounts', {
    columns: ACCOUNT_COLUMNS,
    options: [
      option('--search <text>', 'part of the name, or the whole id or external id', 'q'),
      ...EXTERNAL_FILTERS,
      limit(100),
    ],
  }),
  defineCommand('get <account>', 'get an account', 'getAccount'),
  defineCommand('events <account>', 'list the events of an account, newest first', 'listEvents', {
    columns: EVENT_COLUMNS,
    options: [limit(50)],
  }),
  defineCommand('create', 'create an account', 'createAccount', {
    options: [
      option(...NAME, { required: true }),
      option(...PLAN, { required: true }),
      ...CALENDAR,
      ...EXTERNAL_FIELDS,
    ],
  }),
  defineCommand('update <account>', 'update an account', 'updateAccount', {
    options: [option(...NAME), option(...PLAN), ...CALENDAR, ...EXTERNAL_FIELDS, NO_EXTERNAL_ID, NO_METADATA],
    fields: removedFields,
  }),
  defineCommand('suspend <account>', 'suspend an account: all its keys are rejected', 'updateAccount', {
    fields: () => ({ status: 'suspended' }),
  }),
  defineCommand('activate <account>', 'activate a suspended account', 'updateAccount', {
    fields: () => ({ status: 'active' }),
  }),
  defineCommand('delete <account>', 'delete an account with its keys, members and data, for good', 'deleteAccount', {
    options: [option('--name <name>', 'the name of the account, as a confirmation', 'name', { required: true })],
  }),
];

const USAGE_COMMANDS = [
  defineCommand('get <account>', 'show the usage of an account or one of its keys', 'getUsage', {
    options: [
      option('--key <key>', 'id of a key of the account', null),
      option(
        '--group-by <names>',
        'group by month, day, api_key, operation or outcome; several separated by commas',
        null,
      ),
      option('--from <day>', 'first day, such as 2026-11-01; default: the first of the billing period', null),
      option('--to <day>', 'last day; default: today', null),
      option('--shadow', "requests that the plan's shadow limits would have rejected", null),
      option('--csv', 'print CSV', null),
      limit(1_000, 'maximum rows'),
    ],
    run: getUsage,
  }),
];

const AUDIT_COMMANDS = [
  defineCommand('list', 'list changes, newest first', 'listAuditLog', {
    columns: AUDIT_COLUMNS,
    options: [option('--account <account>', 'only changes of this account', 'account_id'), limit(50)],
  }),
];

/** Adds the commands of `trailgate accounts`. */
export function addAccountCommands(program: Command, terminal: Terminal): void {
  addCommands(program, terminal, 'accounts', 'manage accounts, the tenants of the API', ACCOUNT_COMMANDS);
}

/** Adds the commands of `trailgate usage`. */
export function addUsageCommands(program: Command, terminal: Terminal): void {
  addCommands(program, terminal, 'usage', 'show limits and usage', USAGE_COMMANDS);
}

/** Adds the commands of `trailgate audit`. */
export function addAuditCommands(program: Command, terminal: Terminal): void {
  addCommands(program, terminal, 'audit', 'show the audit log', AUDIT_COMMANDS);
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
  if (options.csv === true) return client.callForText('getUsage', args, { query: { ...query, format: 'csv' } });
  if (groupBy !== undefined) {
    return showRows(usageColumns(groupBy), await client.listRows('getUsage', args, options.limit, query), options);
  }
  const usage = await client.call('getUsage', args, { query });
  if (options.json === true) return showFields(usage, options);
  const rows = showRows(WINDOW_COLUMNS, { data: usage['windows'] as [], has_more: false }, options);
  return usage['approximate'] === true ? `${rows}approximate: the counters are unavailable` : rows;
}

/**
 * Returns the columns of a grouped report, in the order in which the API sorts the groups.
 * @param groupBy value of `--group-by`
 */
function usageColumns(groupBy: string): string[] {
  const requested = groupBy.split(',').map((name) => name.trim());
  const groups = ['month', 'day', 'api_key', 'operation', 'outcome'].filter((name) => requested.includes(name));
  return [...groups.map((name) => (name === 'api_key' ? 'api_key_id' : name)), 'requests', 'cost'];
}
