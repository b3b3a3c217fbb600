/** The commands that talk to a running admin API: a thin client, which knows nothing that the API does not tell it. */
import type { Command } from 'commander';
import { addAccountCommands, addAuditCommands, addUsageCommands } from './account-commands.js';
import { path } from './admin-client.js';
import { addExplainCommand } from './explain-command.js';
import { addLogCommand } from './log-command.js';
import { addKeyCommands } from './key-commands.js';
import { addQuotaAdjustmentCommands } from './quota-adjustment-commands.js';
import { addTargetCommands } from './target-commands.js';
import { addWebhookCommands } from './webhook-commands.js';
import { clientAction, processTerminal, showRows, type Terminal } from './terminal.js';

/** Adds every command that asks the admin API to the program. */
export function addClientCommands(program: Command, terminal: Terminal = processTerminal): void {
  addAccountCommands(program, terminal);
  addKeyCommands(program, terminal);
  addUsageCommands(program, terminal);
  addExplainCommand(program, terminal);
  addLogCommand(program, terminal);
  addQuotaAdjustmentCommands(program, terminal);
  addCatalogueCommand(program, terminal, 'plans', 'the plans of the configuration', [
    'name',
    'key.minute',
    'key.month',
    'account.minute',
    'account.month',
    'on_redis_loss',
    'charge',
  ]);
  addCatalogueCommand(program, terminal, 'scopes', 'the scopes that a key may be given', ['scope', 'operations']);
  addWebhookCommands(program, terminal);
  addTargetCommands(program, terminal);
  addAuditCommands(program, terminal);
}

function addCatalogueCommand(
  program: Command,
  terminal: Terminal,
  name: string,
  what: string,
  columns: readonly string[],
): void {
  const list = program.command(name).description(what).command('list', { isDefault: true }).description(`list ${what}`);
  clientAction(list, terminal, async (client, _args, options) => {
    const { data } = await client.call(path(name));
    return showRows(columns, { data: data as [], has_more: false }, options);
  });
}
