/** Provides the environment of client commands: standard output, the admin API client, and the exit code. */
import type { Command } from 'commander';
import { readClientEnvironment, type ClientEnvironment } from '../../config/client-environment.js';
import { VariableFileError } from '../../config/model/variables.js';
import { AdminClient, CommandError, type Fields, type Rows } from './admin-client.js';
import { fieldsTable, rowsTable } from './table.js';

export interface Terminal {
  readonly environment: () => ClientEnvironment;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Sets the exit code of the process. Does not exit. */
  readonly fail: (exitCode: number) => void;
}

export const processTerminal: Terminal = {
  environment: () => readClientEnvironment(),
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  fail: (exitCode) => {
    process.exitCode = exitCode;
  },
};

/** CommonOptions are the options of all client commands. */
export interface CommonOptions {
  readonly json?: boolean;
}

/**
 * Adds `--json` and the action to a command. Prints the message of a `CommandError` or `VariableFileError` to standard
 * error, and sets exit code 1.
 * @param run returns the text for standard output
 */
export function clientAction<Options extends CommonOptions>(
  command: Command,
  terminal: Terminal,
  run: (client: AdminClient, args: readonly string[], options: Options) => Promise<string>,
): Command {
  return command.option('--json', 'print JSON, for scripts').action(async () => {
    try {
      const client = new AdminClient(terminal.environment());
      terminal.out(await run(client, command.args, command.opts<Options>()));
    } catch (error) {
      if (!(error instanceof CommandError || error instanceof VariableFileError)) throw error;
      terminal.err(`trailgate: ${error.message}\n`);
      terminal.fail(1);
    }
  });
}

/** Formats one object as JSON, or as a list of fields. */
export function showFields(fields: Fields, { json }: CommonOptions): string {
  return json === true ? `${JSON.stringify(fields, null, 2)}\n` : fieldsTable(fields);
}

/** Maximum width of tables, in characters. */
export const MAX_COLUMNS = 80;

/**
 * Formats a list as JSON or as a table. A note under the table says if there are more rows.
 * @param shortened columns that are shortened, in this order, if the table is too wide
 */
export function showRows(
  columns: readonly string[],
  rows: Rows,
  { json }: CommonOptions,
  shortened?: readonly string[],
): string {
  if (json === true) return `${JSON.stringify(rows, null, 2)}\n`;
  const cut = rows.has_more ? `… more rows exist: raise --limit above ${rows.data.length}\n` : '';
  const shorten = shortened && { mostColumns: MAX_COLUMNS, shortenedColumns: shortened.map((name) => [name]) };
  return rowsTable(columns, rows.data, shorten) + cut;
}
