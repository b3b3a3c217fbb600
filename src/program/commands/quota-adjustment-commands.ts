/** `trailgate quota-adjustments …`: what operators change about a month beside the plan. */
import type { Command } from 'commander';
import { path } from './admin-client.js';
import { parseCount, parseLimit } from './options.js';
import { clientAction, showFields, showRows, type CommonOptions, type Terminal } from './terminal.js';

const COLUMNS = ['created_at', 'type', 'amount', 'api_key_id', 'period_ends_at', 'actor', 'reason'];

interface CreateOptions extends CommonOptions {
  readonly type: string;
  readonly amount?: number;
  readonly key?: string;
  readonly reason: string;
}

export function addQuotaAdjustmentCommands(program: Command, terminal: Terminal): void {
  const adjustments = program
    .command('quota-adjustments')
    .description('grants, sets and resets of what an account may use in a month');
  const list = adjustments
    .command('list')
    .description('list the adjustments of an account, newest first')
    .argument('<account>', 'id of the account')
    .option('--limit <n>', 'most rows', parseLimit, 50);
  clientAction<CommonOptions & { readonly limit: number }>(list, terminal, async (client, [id = ''], options) =>
    showRows(COLUMNS, await client.rows(path('accounts', id, 'quota-adjustments'), options.limit), options),
  );
  const create = adjustments
    .command('create')
    .description('raise a month limit until the month ends, or set or reset what is used')
    .argument('<account>', 'id of the account')
    .requiredOption('--type <type>', 'grant, set or reset')
    .option('--amount <n>', 'requests: how many more, or how many are used; not for reset', parseCount)
    .option('--key <key>', "a key of the account: its own month instead of the account's")
    .requiredOption('--reason <text>', 'why; stands in the list and in the audit log');
  clientAction<CreateOptions>(create, terminal, async (client, [id = ''], options) => {
    const { type, amount, key, reason } = options;
    const body = { window: 'month', type, amount, api_key_id: key, reason };
    return showFields(await client.call(path('accounts', id, 'quota-adjustments'), { method: 'POST', body }), options);
  });
}
