/** Defines `trailgate quota-adjustments …`, which lists and creates adjustments of monthly limits and usage. */
import type { Command } from 'commander';
import { addCommands, defineCommand, limit, option } from './command-table.js';
import { parseCount } from './options.js';
import type { Terminal } from './terminal.js';

const COLUMNS = ['created_at', 'type', 'amount', 'api_key_id', 'period_ends_at', 'actor', 'reason'];

const COMMANDS = [
  defineCommand('list <account>', 'list the quota adjustments of an account, newest first', 'listQuotaAdjustments', {
    columns: COLUMNS,
    options: [limit(50)],
  }),
  defineCommand(
    'create <account>',
    'raise a monthly limit until the month ends, or set or reset its usage',
    'createQuotaAdjustment',
    {
      options: [
        option('--type <type>', 'grant, set or reset', 'type', { required: true }),
        option('--amount <n>', 'number of requests to add or set; not for reset', 'amount', {
          parse: parseCount,
        }),
        option('--key <key>', 'adjust a key of the account instead of the account', 'api_key_id'),
        option('--reason <text>', 'reason, shown in the list and in the audit log', 'reason', { required: true }),
      ],
      fields: () => ({ window: 'month' }),
    },
  ),
];

/** Adds the commands of `trailgate quota-adjustments`. */
export function addQuotaAdjustmentCommands(program: Command, terminal: Terminal): void {
  const text = 'adjust monthly usage';
  addCommands(program, terminal, 'quota-adjustments', text, COMMANDS);
}
