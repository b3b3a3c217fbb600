/**
 * Defines `trailgate webhooks …` and `trailgate events …`, which manage webhook endpoints and show their deliveries and
 * the events of an account.
 */
import { InvalidArgumentError, type Command } from 'commander';
import { CommandError, type Fields } from './admin-client.js';
import { addCommands, defineCommand, limit, option } from './command-table.js';
import { collectList } from './options.js';
import { fieldsTable, rowsTable } from './table.js';
import { MAX_COLUMNS, showFields, type CommonOptions, type Terminal } from './terminal.js';

const SHOWN_ONCE = 'This secret is shown only once. The receiver needs it to verify events.\n';
const LONGEST_SHOWN_BODY = 200;

const SECRET = option('--secret <secret>', 'whsec_…, if the receiver already has one', 'secret');
const FIELDS = [
  option('--description <text>', 'description', 'description'),
  option('--type <type>', 'event type or family; can be repeated; default: all', 'event_types', {
    parse: collectList,
  }),
  option('--ordered', 'deliver events of one resource in sequence', 'ordered'),
  option('--rate <n>', 'maximum attempts per second', 'rate_per_second', { parse: parseWholeNumber }),
  option('--concurrency <n>', 'maximum concurrent attempts', 'concurrency', { parse: parseWholeNumber }),
  option('--timeout <ms>', 'timeout of an attempt, in milliseconds', 'timeout_ms', { parse: parseWholeNumber }),
];

const WEBHOOK_COMMANDS = [
  defineCommand('list <account>', 'list the webhook endpoints of an account', 'listWebhookEndpoints', {
    columns: ['id', 'status', 'url', 'event_types'],
    shortened: ['url', 'event_types'],
    options: [limit(100)],
  }),
  defineCommand('get <endpoint>', 'get a webhook endpoint', 'getWebhookEndpoint', { show: endpoint }),
  defineCommand('create <account>', 'create a webhook endpoint; its secret is shown once', 'createWebhookEndpoint', {
    options: [...FIELDS, option('--url <url>', 'URL that receives the events', 'url', { required: true }), SECRET],
    show: endpoint,
    note: SHOWN_ONCE,
  }),
  defineCommand(
    'update <endpoint>',
    'update a webhook endpoint; omitted options stay unchanged',
    'updateWebhookEndpoint',
    {
      options: [
        ...FIELDS,
        option('--url <url>', 'URL that receives the events, including pending ones', 'url'),
        option('--no-ordered', 'turn ordered delivery off', null),
        option('--all-types', 'all event types', null),
      ],
      fields: ({ allTypes }) => (allTypes === true ? { event_types: [] } : {}),
      show: endpoint,
    },
  ),
  defineCommand('pause <endpoint>', 'pause a webhook endpoint; its events wait', 'updateWebhookEndpoint', {
    fields: () => ({ status: 'paused' }),
    show: endpoint,
  }),
  defineCommand('resume <endpoint>', 'resume a webhook endpoint', 'updateWebhookEndpoint', {
    options: [
      option('--none', 'skip all pending events', null),
      option('--since <time>', 'skip pending events before this time', null),
      option('--until <time>', 'skip pending events after this time', null),
    ],
    fields({ none, since, until }) {
      if (since === undefined && until !== undefined) throw new CommandError('--until requires --since.');
      if (none === true && since !== undefined) throw new CommandError('Use either --none or --since, not both.');
      return { status: 'enabled', deliver: none === true ? 'none' : since === undefined ? 'all' : { since, until } };
    },
    show: endpoint,
  }),
  defineCommand('delete <endpoint>', 'delete a webhook endpoint and its pending events', 'deleteWebhookEndpoint'),
  defineCommand('rotate <endpoint>', 'rotate the signing secret', 'rotateWebhookSecret', {
    options: [
      option('--overlap <seconds>', 'how long the previous secret signs too; default: one day', 'overlap_seconds', {
        parse: parseWholeNumber,
      }),
      SECRET,
      option('--end-previous', 'end the oldest of three secrets that still sign', 'end_previous_secret'),
    ],
    show: endpoint,
    note: SHOWN_ONCE,
  }),
  defineCommand(
    'end-previous-secret <endpoint>',
    'end previous signing secrets immediately',
    'endPreviousWebhookSecret',
    {
      show: endpoint,
    },
  ),
  defineCommand('test <endpoint>', 'send a test event and show the result', 'testWebhookEndpoint', {
    options: [option('--type <type>', 'event type of the example', 'type')],
    show: delivery,
  }),
  defineCommand(
    'deliveries <endpoint>',
    'list the deliveries of a webhook endpoint, newest first',
    'listWebhookDeliveries',
    {
      columns: ['at', 'status', 'code', 'type', 'id'],
      shortened: ['type'],
      cells: (one) => ({
        ...one,
        at: minute(one),
        code: (one['last_attempt'] as Fields | null)?.['status_code'],
      }),
      options: [
        option('--status <status>', 'pending, succeeded or failed', 'status'),
        option('--type <type>', 'only events of this type', 'type'),
        option('--since <time>', 'only deliveries created at this time or later', 'since'),
        option('--until <time>', 'only deliveries created at this time or earlier', 'until'),
        limit(20),
      ],
    },
  ),
  defineCommand('delivery <delivery>', 'get a delivery with its attempts', 'getWebhookDelivery', { show: delivery }),
  defineCommand('retry <delivery>', 'resend a delivery now', 'retryWebhookDelivery', { show: delivery }),
  defineCommand('replay <endpoint>', 'resend many deliveries', 'replayWebhookDeliveries', {
    options: [
      option('--status <status>', 'failed, succeeded or all; default: failed', 'status'),
      option('--type <type>', 'event type or family; can be repeated', 'types', { parse: collectList }),
      option('--since <time>', 'created at this time or later', 'since'),
      option('--until <time>', 'created at this time or earlier', 'until'),
    ],
  }),
  defineCommand('types', 'list event types', 'listEventTypes', {
    columns: ['type', 'source', 'description'],
    shortened: ['description'],
  }),
];

const EVENT_COMMANDS = [
  defineCommand('list <account>', 'list the events of an account, newest first', 'listEvents', {
    columns: ['at', 'type', 'source', 'resource', 'id'],
    shortened: ['resource', 'type'],
    cells: (one) => ({ ...one, at: minute(one) }),
    options: [limit(20)],
  }),
  defineCommand('show <event>', 'get an event', 'getEvent'),
];

/** Adds the commands of `trailgate webhooks` and `trailgate events`. */
export function addWebhookCommands(program: Command, terminal: Terminal): void {
  addCommands(program, terminal, 'webhooks', 'manage the webhook endpoints of an account', WEBHOOK_COMMANDS);
  addCommands(program, terminal, 'events', 'list the events of an account', EVENT_COMMANDS);
}

function parseWholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** Formats an endpoint. Without `--json`, shows each public key without its other fields. */
function endpoint(fields: Fields, options: CommonOptions): string {
  const keys = fields['public_keys'];
  if (options.json === true || !Array.isArray(keys)) return showFields(fields, options);
  return showFields({ ...fields, public_keys: (keys as Fields[]).map(({ key }) => key) }, options);
}

/** Formats a delivery, with a line for each attempt. */
function delivery(fields: Fields, { json }: CommonOptions): string {
  if (json === true) return `${JSON.stringify(fields, null, 2)}\n`;
  const { attempt_log: log, ...shown } = fields;
  const rest = Object.fromEntries(Object.entries(shown).filter(([name]) => name !== 'last_attempt'));
  const attempts = (log as Fields[]).map((attempt) => ({
    ...attempt,
    came_back: attempt['error'] ?? String(attempt['response_body'] ?? '').slice(0, LONGEST_SHOWN_BODY),
  }));
  const columns = ['number', 'at', 'status_code', 'duration_ms', 'came_back'];
  const shorten = { mostColumns: MAX_COLUMNS, shortenedColumns: [['came_back']] };
  return `${fieldsTable(rest)}\n${rowsTable(columns, attempts, shorten)}`;
}

/** Formats the creation time without year and seconds, because lists cover the last days. */
function minute({ created_at: at }: Fields): string {
  return String(at).slice(5, 16).replace('T', ' ');
}
