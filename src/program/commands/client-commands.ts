/** Registers the commands that call a running admin API. These commands leave validation to the API. */
import type { Command } from 'commander';
import { addAccountCommands, addAuditCommands, addUsageCommands } from './account-commands.js';
import { addApplyCommand } from './apply-command.js';
import { addList, defineCommand } from './command-table.js';
import { addExplainCommand } from './explain-command.js';
import { addExportCommand } from './export-command.js';
import { addImportCommand } from './import-command.js';
import { addLogCommand } from './log-command.js';
import { addKeyCommands } from './key-commands.js';
import { addQuotaAdjustmentCommands } from './quota-adjustment-commands.js';
import { addTargetCommands } from './target-commands.js';
import { addWebhookCommands } from './webhook-commands.js';
import { WINDOW_PERIODS } from '../../platform/quotas/windows.js';
import { processTerminal, type Terminal } from './terminal.js';

const LIMIT_COLUMNS = ['key', 'account'].flatMap((of) => WINDOW_PERIODS.map((period) => `${of}.${period}`));
const PLAN_COLUMNS = ['name', ...LIMIT_COLUMNS, 'on_redis_loss', 'charge'];
const PLANS = defineCommand('plans', 'list plans of the configuration', 'listPlans', { columns: PLAN_COLUMNS });
const SCOPES = defineCommand('scopes', 'list the scopes that a key can have', 'listScopes', {
  columns: ['scope', 'operations'],
});

/** Adds every command that calls the admin API to the program. */
export function addClientCommands(program: Command, terminal: Terminal = processTerminal): void {
  addAccountCommands(program, terminal);
  addKeyCommands(program, terminal);
  addUsageCommands(program, terminal);
  addExplainCommand(program, terminal);
  addLogCommand(program, terminal);
  addQuotaAdjustmentCommands(program, terminal);
  addList(program, terminal, PLANS);
  addList(program, terminal, SCOPES);
  addWebhookCommands(program, terminal);
  addTargetCommands(program, terminal);
  addApplyCommand(program, terminal);
  addImportCommand(program, terminal);
  addExportCommand(program, terminal);
  addAuditCommands(program, terminal);
}
