/**
 * Builds commands that call one operation of the admin API. Each command is a row of a table with its operation,
 * options and columns.
 */
import { Option, type Command } from 'commander';
import { OPERATIONS, type OperationId } from '../../admin/openapi/operations.js';
import type { AdminClient, Fields } from './admin-client.js';
import { parseLimit } from './options.js';
import { clientAction, showFields, showRows, type CommonOptions, type Terminal } from './terminal.js';

/** OptionRow describes an option of a command. */
interface OptionRow {
  /** Flags in commander's notation, such as `--name <name>`. */
  readonly flags: string;
  readonly text: string;
  /** Field of the query or body that takes the value. Null if `fields` or `run` reads the value. */
  readonly field: string | null;
  readonly parse?: (text: string, before?: never) => unknown;
  readonly default?: unknown;
  readonly required?: true;
}

/** Values are the values of a command's options. */
type Values = CommonOptions & Readonly<Record<string, unknown>>;

/** RowParts are the optional fields of a command row. */
interface RowParts {
  readonly options?: readonly OptionRow[];
  /**
   * Returns further fields of the query or body. JSON omits undefined values. Throws `CommandError` for contradictory
   * options.
   */
  fields?(values: Values): Fields;
  /** Columns of the table, for operations that return a list. */
  readonly columns?: readonly string[];
  /** Columns that are shortened if the table is too wide. */
  readonly shortened?: readonly string[];
  /** Adds cells to a row of the table. `--json` does not show them. */
  readonly cells?: (row: Fields) => Fields;
  /** Formats the response. Default: a list of its fields. */
  readonly show?: (body: Fields, options: CommonOptions) => string;
  /** Text for standard error after the command succeeds. */
  readonly note?: string;
  /** Replaces the call of `operation`. Runs the command and returns its output. */
  run?(client: AdminClient, args: readonly string[], values: Values): Promise<string>;
}

interface CommandRow extends RowParts {
  readonly usage: string;
  readonly text: string;
  readonly operation: OperationId;
}

/** ArgumentsOf requires an argument for each parameter of a path. */
type ArgumentsOf<Path extends string> = Path extends `${string}{${string}}${infer Rest}`
  ? ` <${string}>${ArgumentsOf<Rest>}`
  : '';

/**
 * Returns the row of a command, such as `defineCommand('get <key>', 'get an API key', 'getApiKey')`. The type of
 * `usage` requires an argument for each parameter of the path.
 */
export function defineCommand<Id extends OperationId>(
  usage: `${string}${ArgumentsOf<(typeof OPERATIONS)[Id]['path']>}`,
  text: string,
  operation: Id,
  parts: RowParts = {},
): CommandRow {
  return { usage, text, operation, ...parts };
}

/** Returns an option whose value becomes a field of the query or the body. */
export function option(
  flags: string,
  text: string,
  field: string | null,
  more: Pick<OptionRow, 'parse' | 'default' | 'required'> = {},
): OptionRow {
  return { flags, text, field, ...more };
}

/**
 * Returns the option `--limit`. A list with this option reads as many pages as necessary.
 * @param maxRows default value
 */
export function limit(maxRows: number, text = 'maximum rows'): OptionRow {
  return option('--limit <n>', text, null, { parse: parseLimit, default: maxRows });
}

/** Descriptions of the arguments in the help text. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  account: 'id of the account',
  key: 'id of the key',
  endpoint: 'id of the webhook endpoint',
  delivery: 'id of the delivery',
  event: 'id of the event',
};

/** Adds a group of commands, such as `keys`. */
export function addCommands(
  program: Command,
  terminal: Terminal,
  name: string,
  text: string,
  rows: readonly CommandRow[],
): void {
  const group = program.command(name).description(text);
  for (const entry of rows) addCommand(group, terminal, entry);
}

/** Adds a group with the single command `list`, which also runs without its name. */
export function addList(program: Command, terminal: Terminal, entry: CommandRow): void {
  const group = program.command(entry.usage).description(entry.text);
  addCommand(group, terminal, { ...entry, usage: 'list', text: entry.text }, { isDefault: true });
}

function addCommand(
  group: Command,
  terminal: Terminal,
  entry: CommandRow,
  settings: { isDefault?: boolean } = {},
): void {
  const [name = '', ...names] = entry.usage.split(/ <|> <|>/).filter(Boolean);
  const command = group.command(name, settings).description(entry.text);
  for (const argument of names) command.argument(`<${argument}>`, ARGUMENTS[argument]);
  const options = (entry.options ?? []).map((each) => ({ ...each, option: optionOf(each) }));
  for (const each of options) command.addOption(each.option);
  clientAction<Values>(command, terminal, async (client, args, values) => {
    if (entry.run !== undefined) return entry.run(client, args, values);
    const namedFields = options.flatMap(({ field, option: each }) =>
      field === null ? [] : [[field, values[each.attributeName()]] as const],
    );
    const fields = { ...Object.fromEntries(namedFields), ...entry.fields?.(values) };
    const shown = await callOperation(client, entry, args, fields, values);
    if (entry.note !== undefined) terminal.err(entry.note);
    return shown;
  });
}

function optionOf({ flags, text, parse, required, ...rest }: OptionRow): Option {
  const commanderOption = new Option(flags, text);
  if (parse !== undefined) commanderOption.argParser(parse as (text: string, before: unknown) => unknown);
  if (rest.default !== undefined) commanderOption.default(rest.default);
  return required === true ? commanderOption.makeOptionMandatory() : commanderOption;
}

async function callOperation(
  client: AdminClient,
  { operation, options = [], fields: addFields, columns, shortened, cells, show }: CommandRow,
  args: readonly string[],
  fields: Fields,
  values: Values,
): Promise<string> {
  const { method, status } = OPERATIONS[operation];
  if (columns !== undefined) {
    const maxRows = values['limit'];
    const found =
      typeof maxRows === 'number'
        ? await client.listRows(operation, args, maxRows, fields)
        : { data: (await client.call(operation, args))['data'] as Fields[], has_more: false };
    const isTable = cells !== undefined && values.json !== true;
    return showRows(columns, isTable ? { ...found, data: found.data.map(cells) } : found, values, shortened);
  }
  const call = method !== 'get' && (options.length > 0 || addFields !== undefined) ? { body: fields } : {};
  if (status === 204) {
    await client.callForText(operation, args, call);
    return 'deleted\n';
  }
  return (show ?? showFields)(await client.call(operation, args, call), values);
}
