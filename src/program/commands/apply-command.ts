/**
 * Defines `trailgate apply`. The command changes accounts, keys and webhook endpoints to match a YAML file, and shows
 * the changes.
 */
import type { Command } from 'commander';
import { CommandError, oneLine, type AdminClient, type Fields } from './admin-client.js';
import { clientAction, type CommonOptions, type Terminal } from './terminal.js';
import { readApplyFile, type ApplyFile } from './apply-file.js';
import { planAccount, type FieldChange, type Step } from './apply-steps.js';

const SIGNS = { create: '+', update: '~', remove: '-', leave: '=' } as const;
const COUNTED = { create: 'created', update: 'updated', remove: 'removed' } as const;
const SHOWN_ONCE = 'These secrets are shown only once.\n';

interface ApplyOptions extends CommonOptions {
  readonly dryRun?: boolean;
  readonly prune?: boolean;
}

/** Done is a step with its result, as `--json` shows it. */
interface Done extends Pick<Step, 'action' | 'type' | 'name' | 'changes'> {
  readonly account: string;
  readonly id?: unknown;
  readonly secret?: unknown;
  /** Set if the step failed. The reason is on standard error. */
  readonly error?: string;
}

/** Adds `apply` to the program. */
export function addApplyCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('apply')
    .description('make accounts, keys and webhook endpoints equal to those of a YAML file, and show the difference')
    .argument('<file>', 'the file')
    .option('--dry-run', 'show the difference, and change nothing')
    .option('--prune', 'revoke keys and delete webhook endpoints of these accounts that the file does not have');
  clientAction<ApplyOptions>(command, terminal, async (client, [name = ''], options) => {
    const run = new ApplyRun(client, await readApplyFile(name, terminal.environment().variables), options, terminal);
    await run.all();
    if (run.counts.failed > 0) terminal.fail(1);
    if (options.json === true) return `${JSON.stringify({ ...run.counts, steps: run.done }, null, 2)}\n`;
    if (run.done.some(({ secret }) => secret !== undefined)) terminal.err(SHOWN_ONCE);
    return summaryText(run.counts, options.dryRun === true);
  });
}

class ApplyRun {
  readonly counts = { created: 0, updated: 0, removed: 0, failed: 0 };
  readonly done: Done[] = [];

  constructor(
    private readonly client: AdminClient,
    private readonly file: ApplyFile,
    private readonly options: ApplyOptions,
    private readonly terminal: Terminal,
  ) {}

  /**
   * Applies all accounts in order. A failed step does not stop the others, except that an account that cannot be
   * created has no further steps.
   */
  async all(): Promise<void> {
    for (const [index, account] of this.file.accounts.entries()) {
      const path = ['accounts', index];
      const plan = await planAccount(this.client, account, index, this.options.prune === true).catch((error: unknown) =>
        this.fail(path, error),
      );
      if (plan === undefined) continue;
      for (const { path: at, message } of plan.faults) this.fail(at, new CommandError(message));
      let { accountId } = plan;
      for (const step of plan.steps) {
        const shown = { action: step.action, type: step.type, name: step.name, changes: step.changes };
        const result = await this.run(step, accountId);
        const { id, secret } = result ?? {};
        if (step.type === 'account' && typeof id === 'string') accountId ??= id;
        this.add({
          ...shown,
          account: account.external_id,
          ...(id === undefined ? {} : { id }),
          ...(secret === undefined ? {} : { secret }),
          ...(result === undefined ? { error: 'failed' } : {}),
        });
        if (result === undefined && step.type === 'account' && step.action === 'create') break;
      }
    }
  }

  /** Runs a step. Returns undefined if the step failed. A dry run changes nothing and returns no fields. */
  private async run(step: Step, accountId: string | undefined): Promise<Fields | undefined> {
    if (step.action === 'leave') return {};
    const isDryRun = this.options.dryRun === true;
    const running = isDryRun ? Promise.resolve<Fields>({}) : step.run(this.client, accountId ?? '');
    const result = await running.catch((error: unknown) => this.fail(step.path, error));
    if (result !== undefined) this.counts[COUNTED[step.action]] += 1;
    return result;
  }

  private fail(path: Step['path'], error: unknown): undefined {
    if (!(error instanceof CommandError)) throw error;
    this.counts.failed += 1;
    this.terminal.err(`${this.file.placeOf(path)} ${error.message}\n`);
    return undefined;
  }

  private add(done: Done): void {
    this.done.push(done);
    if (this.options.json !== true) this.terminal.out(stepText(done));
  }
}

/** Formats a step as a line with its name, and a line for each changed field. */
function stepText({ action, type, name, changes, secret, error }: Done): string {
  const indent = type === 'account' ? '' : '  ';
  const note = action === 'leave' ? ' is not in the file; --prune removes it' : error === undefined ? '' : ' (failed)';
  const lines = [
    `${indent}${SIGNS[action]} ${type} ${name}${note}`,
    ...changes.map((change) => `${indent}    ${changeText(action, change)}`),
    ...(typeof secret === 'string' ? [`${indent}    secret: ${secret}`] : []),
  ];
  return `${lines.map(oneLineKeepingIndent).join('\n')}\n`;
}

function changeText(action: Step['action'], { field, from, to }: FieldChange): string {
  return action === 'create' ? `${field}: ${valueText(to)}` : `${field}: ${valueText(from)} → ${valueText(to)}`;
}

function valueText(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'none';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function oneLineKeepingIndent(line: string): string {
  const [indent = ''] = /^ */.exec(line) ?? [];
  return indent + oneLine(line);
}

function summaryText({ created, updated, removed, failed }: ApplyRun['counts'], isDryRun: boolean): string {
  if (created + updated + removed + failed === 0) return 'no changes\n';
  if (isDryRun) return `to create ${created}, to update ${updated}, to remove ${removed}, failed ${failed}\n`;
  return `created ${created}, updated ${updated}, removed ${removed}, failed ${failed}\n`;
}
