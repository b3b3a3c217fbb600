/** Commands that ask the admin API one thing, as rows of tables: the command, its operation, options and columns. */
import { Option, type Command } from 'commander';
import { OPERATIONS, type OperationId } from '../../admin/openapi/operations.js';
import type { AdminClient, Fields } from './admin-client.js';
import { parseLimit } from './options.js';
import { clientAction, showFields, showRows, type CommonOptions, type Terminal } from './terminal.js';

/** An option of a command. */
interface OptionRow {
  /** Options in commander's notation: `--name <name>`. */
  readonly flags: string;
  readonly text: string;
  /** The field of the query or body that takes the value; null: `fields` reads it. */
  readonly field: string | null;
  readonly parse?: (text: string, before?: never) => unknown;
  readonly default?: unknown;
  readonly required?: true;
}

/** The values of a command's options. */
type Values = CommonOptions & Readonly<Record<string, unknown>>;

/** Optional fields of a row, beyond its command, text and operation. */
interface RowParts {
  readonly options?: readonly OptionRow[];
  /** Fields that no option names by itself; JSON leaves undefined out. Throws `CommandError` for a contradiction. */
  fields?(values: Values): Fields;
  /** Columns of a list. */
  readonly columns?: readonly string[];
  /** Columns that are shortened where the table does not fit a terminal. */
  readonly shortened?: readonly string[];
  /** Adds cells to a row of the table. */
  readonly cells?: (row: Fields) => Fields;
  /** Shows a response other than by its fields or columns. */
  readonly show?: (body: Fields, options: CommonOptions) => string;
  /** Words for standard error once it is done. */
  readonly note?: string;
  /** Asks in a way of its own. */
  run?(client: AdminClient, args: readonly string[], values: Values): Promise<string>;
}

interface CommandRow extends RowParts {
  readonly usage: string;
  readonly text: string;
  readonly operation: OperationId;
}

/** An argument for each parameter of a path. */
type ArgumentsOf<Path extends string> = Path extends `${string}{${string}}${infer Rest}`
  ? ` <${string}>${ArgumentsOf<Rest>}`
  : '';

/**
 * A row: `row('keys get <key>', 'show a key', 'getApiKey')`. The type of `usage` wants an argument for each parameter
 * of the path.
 */
export function row<Id extends OperationId>(
  usage: `${string}${ArgumentsOf<(typeof OPERATIONS)[Id]['path']>}`,
  text: string,
  operation: Id,
  parts: RowParts = {},
): CommandRow {
  return { usage, text, operation, ...parts };
}

/** An option whose value goes into a field of the query or the body. */
export function option(
  flags: string,
  text: string,
  field: string | null,
  more: Pick<OptionRow, 'parse' | 'default' | 'required'> = {},
): OptionRow {
  return { flags, text, field, ...more };
}

/** `--limit`, which makes a list go over as many pages as that takes. */
export function limit(most: number, text = 'maximum rows'): OptionRow {
  return option('--limit <n>', text, null, { parse: parseLimit, default: most });
}

/** Descriptions of the arguments. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  account: 'id of the account',
  key: 'id of the key',
  endpoint: 'id of the webhook endpoint',
  delivery: 'id of the delivery',
  event: 'id of the event',
};

/** Adds the commands of a group, such as `keys`. */
export function addCommands(
  program: Command,
  terminal: Terminal,
  name: string,
  text: string,
  rows: readonly CommandRow[],
): void {
  const group = program.command(name).description(text);
  for (const one of rows) addCommand(group, terminal, one);
}

/** Adds a group with one command, which the name of the group alone runs too. */
export function addList(program: Command, terminal: Terminal, one: CommandRow): void {
  const group = program.command(one.usage).description(one.text);
  addCommand(group, terminal, { ...one, usage: 'list', text: `list ${one.text}` }, { isDefault: true });
}

function addCommand(group: Command, terminal: Terminal, one: CommandRow, settings: { isDefault?: boolean } = {}): void {
  const [name = '', ...names] = one.usage.split(/ <|> <|>/).filter(Boolean);
  const command = group.command(name, settings).description(one.text);
  for (const argument of names) command.argument(`<${argument}>`, ARGUMENTS[argument]);
  const options = (one.options ?? []).map((each) => ({ ...each, option: optionOf(each) }));
  for (const each of options) command.addOption(each.option);
  clientAction<Values>(command, terminal, async (client, args, values) => {
    if (one.run !== undefined) return one.run(client, args, values);
    const named = options.flatMap(({ field, option: each }) =>
      field === null ? [] : [[field, values[each.attributeName()]] as const],
    );
    const fields = { ...Object.fromEntries(named), ...one.fields?.(values) };
    const shown = await ask(client, one, args, fields, values);
    if (one.note !== undefined) terminal.err(one.note);
    return shown;
  });
}

function optionOf({ flags, text, parse, required, ...rest }: OptionRow): Option {
  const made = new Option(flags, text);
  if (parse !== undefined) made.argParser(parse as (text: string, before: unknown) => unknown);
  if (rest.default !== undefined) made.default(rest.default);
  return required === true ? made.makeOptionMandatory() : made;
}

async function ask(
  client: AdminClient,
  { operation, options = [], fields: own, columns, shortened, cells, show }: CommandRow,
  args: readonly string[],
  fields: Fields,
  values: Values,
): Promise<string> {
  const { method, status } = OPERATIONS[operation];
  if (columns !== undefined) {
    const most = values['limit'];
    const found =
      typeof most === 'number'
        ? await client.rows(operation, args, most, fields)
        : { data: (await client.call(operation, args))['data'] as Fields[], has_more: false };
    const isTable = cells !== undefined && values.json !== true;
    return showRows(columns, isTable ? { ...found, data: found.data.map(cells) } : found, values, shortened);
  }
  const call = method !== 'get' && (options.length > 0 || own !== undefined) ? { body: fields } : {};
  if (status === 204) {
    await client.text(operation, args, call);
    return 'deleted\n';
  }
  return (show ?? showFields)(await client.call(operation, args, call), values);
}
