/** `trailgate quota-adjustments …`: what operators change about a month beside the plan. */
import type { Command } from 'commander';
import { addCommands, limit, option, row } from './command-table.js';
import { parseCount } from './options.js';
import type { Terminal } from './terminal.js';

const COLUMNS = ['created_at', 'type', 'amount', 'api_key_id', 'period_ends_at', 'actor', 'reason'];

const COMMANDS = [
  row('list <account>', 'list the adjustments of an account, newest first', 'listQuotaAdjustments', {
    columns: COLUMNS,
    options: [limit(50)],
  }),
  row(
    'create <account>',
    'raise a month limit until the month ends, or set or reset what is used',
    'createQuotaAdjustment',
    {
      options: [
        option('--type <type>', 'grant, set or reset', 'type', { required: true }),
        option('--amount <n>', 'requests: how many more, or how many are used; not for reset', 'amount', {
          parse: parseCount,
        }),
        option('--key <key>', "a key of the account: its own month instead of the account's", 'api_key_id'),
        option('--reason <text>', 'why; stands in the list and in the audit log', 'reason', { required: true }),
      ],
      fields: () => ({ window: 'month' }),
    },
  ),
];

/** Adds the group. */
export function addQuotaAdjustmentCommands(program: Command, terminal: Terminal): void {
  const text = 'grants, sets and resets of what an account may use in a month';
  addCommands(program, terminal, 'quota-adjustments', text, COMMANDS);
}
