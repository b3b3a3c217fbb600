/** `trailgate webhooks …` and `trailgate events …`: where an account is told of what, and how that went. */
import { InvalidArgumentError, type Command } from 'commander';
import { CommandError, path, type Fields, type Rows } from './admin-client.js';
import { collectList, parseLimit } from './options.js';
import { fieldsTable, rowsTable } from './table.js';
import { clientAction, showFields, type CommonOptions, type Terminal } from './terminal.js';

const MOST_COLUMNS = 80;
const SHOWN_ONCE = 'The secret is shown only now: the receiver needs it to tell what is genuine.\n';
const LONGEST_SHOWN_BODY = 200;

interface EndpointOptions extends CommonOptions {
  readonly url?: string;
  readonly description?: string;
  readonly type?: readonly string[];
  readonly allTypes?: boolean;
  readonly ordered?: boolean;
  readonly rate?: number;
  readonly concurrency?: number;
  readonly timeout?: number;
  readonly secret?: string;
}

interface DeliveriesOptions extends CommonOptions {
  readonly status?: string;
  readonly type?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit: number;
}

interface ReplayOptions extends CommonOptions {
  readonly status?: string;
  readonly type?: readonly string[];
  readonly since?: string;
  readonly until?: string;
}

/** Adds both commands. */
export function addWebhookCommands(program: Command, terminal: Terminal): void {
  const webhooks = program.command('webhooks').description('the webhook endpoints of an account');
  addEndpoints(webhooks, terminal);
  addLife(webhooks, terminal);
  addDeliveries(webhooks, terminal);
  const types = webhooks.command('types').description('list the types of events that there are');
  clientAction(types, terminal, async (client, _args, options) =>
    narrowRows(['type', 'source', 'description'], ofBody(await client.call(path('event-types'))), options, [
      'description',
    ]),
  );
  addEvents(program, terminal);
}

function addEndpoints(webhooks: Command, terminal: Terminal): void {
  const list = onAccount(webhooks, 'list', 'list the webhook endpoints of an account').option(
    '--limit <n>',
    'most rows',
    parseLimit,
    100,
  );
  clientAction<CommonOptions & { readonly limit: number }>(list, terminal, async (client, [id = ''], options) => {
    const rows = await client.rows(path('accounts', id, 'webhook-endpoints'), options.limit);
    return narrowRows(['id', 'status', 'url', 'event_types'], rows, options, ['url', 'event_types']);
  });
  clientAction(onEndpoint(webhooks, 'get', 'show a webhook endpoint'), terminal, async (client, [id = ''], options) =>
    showFields(plain(await client.call(path('webhook-endpoints', id)), options), options),
  );
  const create = withFields(onAccount(webhooks, 'create', 'add a webhook endpoint; its secret is shown once'))
    .requiredOption('--url <url>', 'where events are posted to')
    .option('--secret <secret>', 'whsec_…, where the receiver has one already');
  clientAction<EndpointOptions>(create, terminal, async (client, [id = ''], options) => {
    const call = { method: 'POST', body: endpointFields(options) } as const;
    const made = await client.call(path('accounts', id, 'webhook-endpoints'), call);
    terminal.err(SHOWN_ONCE);
    return showFields(plain(made, options), options);
  });
  const update = withFields(onEndpoint(webhooks, 'update', 'change a webhook endpoint; what is not named stays'))
    .option('--url <url>', 'where events are posted to, those that wait, too')
    .option('--no-ordered', 'events arrive as they come')
    .option('--all-types', 'all types of events');
  clientAction<EndpointOptions>(update, terminal, async (client, [id = ''], options) => {
    const call = { method: 'PATCH', body: endpointFields(options) } as const;
    return showFields(plain(await client.call(path('webhook-endpoints', id), call), options), options);
  });
}

function addLife(webhooks: Command, terminal: Terminal): void {
  const pause = onEndpoint(webhooks, 'pause', 'let the events of a webhook endpoint wait');
  clientAction(pause, terminal, async (client, [id = ''], options) => {
    const call = { method: 'PATCH', body: { status: 'paused' } } as const;
    return showFields(plain(await client.call(path('webhook-endpoints', id), call), options), options);
  });
  const resume = onEndpoint(webhooks, 'resume', 'enable a webhook endpoint again')
    .option('--none', 'give up what has waited')
    .option('--since <time>', 'give up what is older')
    .option('--until <time>', 'give up what is younger');
  clientAction<CommonOptions & { readonly none?: boolean; readonly since?: string; readonly until?: string }>(
    resume,
    terminal,
    async (client, [id = ''], { none, since, until, ...options }) => {
      if (since === undefined && until !== undefined) throw new CommandError('--until goes with --since.');
      if (none === true && since !== undefined) throw new CommandError('--none and --since exclude each other.');
      const deliver = none === true ? 'none' : since === undefined ? 'all' : { since, until };
      const call = { method: 'PATCH', body: { status: 'enabled', deliver } } as const;
      return showFields(plain(await client.call(path('webhook-endpoints', id), call), options), options);
    },
  );
  const remove = onEndpoint(webhooks, 'delete', 'delete a webhook endpoint; what waits is given up');
  clientAction(remove, terminal, async (client, [id = '']) => {
    await client.text(path('webhook-endpoints', id), {}, 'DELETE');
    return 'deleted\n';
  });
  const rotate = onEndpoint(webhooks, 'rotate', 'give a webhook endpoint a new secret')
    .option('--overlap <seconds>', 'how long the old one signs, too; a day unless said', parseSeconds)
    .option('--secret <secret>', 'whsec_…, where the receiver has one already')
    .option('--end-previous', 'end the oldest of three secrets that still sign');
  clientAction<CommonOptions & { readonly overlap?: number; readonly secret?: string; readonly endPrevious?: boolean }>(
    rotate,
    terminal,
    async (client, [id = ''], { overlap, secret, endPrevious, ...options }) => {
      const body = { overlap_seconds: overlap, end_previous_secret: endPrevious, secret };
      const call = { method: 'POST', body } as const;
      const made = await client.call(path('webhook-endpoints', id, 'rotate-secret'), call);
      terminal.err(SHOWN_ONCE);
      return showFields(plain(made, options), options);
    },
  );
  const end = onEndpoint(webhooks, 'end-previous-secret', 'sign with the current secret alone from now on');
  clientAction(end, terminal, async (client, [id = ''], options) => {
    const endpoint = await client.call(path('webhook-endpoints', id, 'end-previous-secret'), { method: 'POST' });
    return showFields(plain(endpoint, options), options);
  });
}

function addDeliveries(webhooks: Command, terminal: Terminal): void {
  const test = onEndpoint(webhooks, 'test', 'send a test, and say what came of it').option(
    '--type <type>',
    'an example of this type',
  );
  clientAction<CommonOptions & { readonly type?: string }>(test, terminal, async (client, [id = ''], options) => {
    const call = { method: 'POST', body: { type: options.type } } as const;
    return delivery(await client.call(path('webhook-endpoints', id, 'test'), call), options);
  });
  const list = onEndpoint(webhooks, 'deliveries', 'list the deliveries of a webhook endpoint, newest first')
    .option('--status <status>', 'pending, succeeded or failed')
    .option('--type <type>', 'only events of this type')
    .option('--since <time>', 'only those that were made then or later')
    .option('--until <time>', 'only those that were made until then')
    .option('--limit <n>', 'most rows', parseLimit, 20);
  clientAction<DeliveriesOptions>(list, terminal, async (client, [id = ''], { limit, json, ...query }) => {
    const rows = await client.rows(path('webhook-endpoints', id, 'deliveries'), limit, query);
    if (json === true) return `${JSON.stringify(rows, null, 2)}\n`;
    const data = rows.data.map((row) => ({
      ...row,
      at: minute(row),
      code: (row['last_attempt'] as Fields | null)?.['status_code'],
    }));
    return narrowRows(['at', 'status', 'code', 'type', 'id'], { ...rows, data }, {}, ['type']);
  });
  const one = onDelivery(webhooks, 'delivery', 'show a delivery with its attempts');
  clientAction(one, terminal, async (client, [id = ''], options) =>
    delivery(await client.call(path('webhook-deliveries', id)), options),
  );
  const retry = onDelivery(webhooks, 'retry', 'attempt a delivery again, now');
  clientAction(retry, terminal, async (client, [id = ''], options) =>
    delivery(await client.call(path('webhook-deliveries', id, 'retry'), { method: 'POST' }), options),
  );
  const replay = onEndpoint(webhooks, 'replay', 'attempt many deliveries again')
    .option('--status <status>', 'failed, succeeded or all; failed unless said')
    .option('--type <type>', 'a type or family of events; may be repeated', collectList)
    .option('--since <time>', 'made then or later')
    .option('--until <time>', 'made until then');
  clientAction<ReplayOptions>(replay, terminal, async (client, [id = ''], { status, type, since, until, json }) => {
    const call = { method: 'POST', body: { status, types: type, since, until } } as const;
    return showFields(await client.call(path('webhook-endpoints', id, 'replay'), call), { json: json === true });
  });
}

function addEvents(program: Command, terminal: Terminal): void {
  const events = program.command('events').description('what accounts have been told');
  const list = onAccount(events, 'list', 'list the events of an account, newest first').option(
    '--limit <n>',
    'most rows',
    parseLimit,
    20,
  );
  clientAction<CommonOptions & { readonly limit: number }>(list, terminal, async (client, [id = ''], options) => {
    const rows = await client.rows(path('accounts', id, 'events'), options.limit);
    if (options.json === true) return `${JSON.stringify(rows, null, 2)}\n`;
    const data = rows.data.map((row) => ({ ...row, at: minute(row) }));
    const columns = ['at', 'type', 'source', 'resource', 'id'];
    return narrowRows(columns, { ...rows, data }, {}, ['resource', 'type']);
  });
  const show = events.command('show').description('show an event').argument('<event>', 'id of the event');
  clientAction(show, terminal, async (client, [id = ''], options) =>
    showFields(await client.call(path('events', id)), options),
  );
}

const onAccount = (command: Command, name: string, what: string): Command =>
  command.command(name).description(what).argument('<account>', 'id of the account');
const onEndpoint = (command: Command, name: string, what: string): Command =>
  command.command(name).description(what).argument('<endpoint>', 'id of the webhook endpoint');
const onDelivery = (command: Command, name: string, what: string): Command =>
  command.command(name).description(what).argument('<delivery>', 'id of the delivery');

function withFields(command: Command): Command {
  return command
    .option('--description <text>', 'for people')
    .option('--type <type>', 'a type or family of events; may be repeated; all unless said', collectList)
    .option('--ordered', 'events of one resource arrive one after the other')
    .option('--rate <n>', 'most attempts in a second', parseSeconds)
    .option('--concurrency <n>', 'most attempts at a time', parseSeconds)
    .option('--timeout <ms>', 'for an attempt, in milliseconds', parseSeconds);
}

/** The fields that were named; JSON leaves undefined out. */
function endpointFields(options: EndpointOptions): Fields {
  return {
    url: options.url,
    description: options.description,
    event_types: options.allTypes === true ? [] : options.type,
    ordered: options.ordered,
    rate_per_second: options.rate,
    concurrency: options.concurrency,
    timeout_ms: options.timeout,
    secret: options.secret,
  };
}

function parseSeconds(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** An endpoint for people: of its public keys the keys. */
function plain(endpoint: Fields, { json }: CommonOptions): Fields {
  const keys = endpoint['public_keys'];
  if (json === true || !Array.isArray(keys)) return endpoint;
  return { ...endpoint, public_keys: (keys as Fields[]).map(({ key }) => key) };
}

/** A delivery, and a line for each attempt. */
function delivery(fields: Fields, { json }: CommonOptions): string {
  if (json === true) return `${JSON.stringify(fields, null, 2)}\n`;
  const { attempt_log: log, ...shown } = fields;
  const rest = Object.fromEntries(Object.entries(shown).filter(([name]) => name !== 'last_attempt'));
  const attempts = (log as Fields[]).map((attempt) => ({
    ...attempt,
    came_back: attempt['error'] ?? String(attempt['response_body'] ?? '').slice(0, LONGEST_SHOWN_BODY),
  }));
  const columns = ['number', 'at', 'status_code', 'duration_ms', 'came_back'];
  const shorten = { mostColumns: MOST_COLUMNS, names: [['came_back']] };
  return `${fieldsTable(rest)}\n${rowsTable(columns, attempts, shorten)}`;
}

/** When something was made: lists are of the last days. */
function minute({ created_at: at }: Fields): string {
  return String(at).slice(5, 16).replace('T', ' ');
}

function ofBody(body: Fields): Rows {
  return { data: body['data'] as Fields[], has_more: false };
}

/** A table that fits a terminal; some columns are shortened where they have no room. */
function narrowRows(
  columns: readonly string[],
  rows: Rows,
  { json }: CommonOptions,
  shortened: readonly string[],
): string {
  if (json === true) return `${JSON.stringify(rows, null, 2)}\n`;
  const cut = rows.has_more ? `… and more: --limit shows more than ${rows.data.length}\n` : '';
  const shorten = { mostColumns: MOST_COLUMNS, names: shortened.map((name) => [name]) };
  return rowsTable(columns, rows.data, shorten) + cut;
}
