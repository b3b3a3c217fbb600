/** `trailgate webhooks …` and `trailgate events …`: where an account is told of what, and how that went. */
import { InvalidArgumentError, type Command } from 'commander';
import { CommandError, type Fields } from './admin-client.js';
import { addCommands, limit, option, row } from './command-table.js';
import { collectList } from './options.js';
import { fieldsTable, rowsTable } from './table.js';
import { MOST_COLUMNS, showFields, type CommonOptions, type Terminal } from './terminal.js';

const SHOWN_ONCE = 'The secret is shown only now: the receiver needs it to tell what is genuine.\n';
const LONGEST_SHOWN_BODY = 200;

const SECRET = option('--secret <secret>', 'whsec_…, where the receiver has one already', 'secret');
const FIELDS = [
  option('--description <text>', 'for people', 'description'),
  option('--type <type>', 'a type or family of events; may be repeated; all unless said', 'event_types', {
    parse: collectList,
  }),
  option('--ordered', 'events of one resource arrive one after the other', 'ordered'),
  option('--rate <n>', 'most attempts in a second', 'rate_per_second', { parse: parseSeconds }),
  option('--concurrency <n>', 'most attempts at a time', 'concurrency', { parse: parseSeconds }),
  option('--timeout <ms>', 'for an attempt, in milliseconds', 'timeout_ms', { parse: parseSeconds }),
];

const WEBHOOK_COMMANDS = [
  row('list <account>', 'list the webhook endpoints of an account', 'listWebhookEndpoints', {
    columns: ['id', 'status', 'url', 'event_types'],
    shortened: ['url', 'event_types'],
    options: [limit(100)],
  }),
  row('get <endpoint>', 'show a webhook endpoint', 'getWebhookEndpoint', { show: endpoint }),
  row('create <account>', 'add a webhook endpoint; its secret is shown once', 'createWebhookEndpoint', {
    options: [...FIELDS, option('--url <url>', 'where events are posted to', 'url', { required: true }), SECRET],
    show: endpoint,
    note: SHOWN_ONCE,
  }),
  row('update <endpoint>', 'change a webhook endpoint; what is not named stays', 'updateWebhookEndpoint', {
    options: [
      ...FIELDS,
      option('--url <url>', 'where events are posted to, those that wait, too', 'url'),
      option('--no-ordered', 'events arrive as they come', null),
      option('--all-types', 'all types of events', null),
    ],
    fields: ({ allTypes }) => (allTypes === true ? { event_types: [] } : {}),
    show: endpoint,
  }),
  row('pause <endpoint>', 'let the events of a webhook endpoint wait', 'updateWebhookEndpoint', {
    fields: () => ({ status: 'paused' }),
    show: endpoint,
  }),
  row('resume <endpoint>', 'enable a webhook endpoint again', 'updateWebhookEndpoint', {
    options: [
      option('--none', 'give up what has waited', null),
      option('--since <time>', 'give up what is older', null),
      option('--until <time>', 'give up what is younger', null),
    ],
    fields({ none, since, until }) {
      if (since === undefined && until !== undefined) throw new CommandError('--until goes with --since.');
      if (none === true && since !== undefined) throw new CommandError('--none and --since exclude each other.');
      return { status: 'enabled', deliver: none === true ? 'none' : since === undefined ? 'all' : { since, until } };
    },
    show: endpoint,
  }),
  row('delete <endpoint>', 'delete a webhook endpoint; what waits is given up', 'deleteWebhookEndpoint'),
  row('rotate <endpoint>', 'give a webhook endpoint a new secret', 'rotateWebhookSecret', {
    options: [
      option('--overlap <seconds>', 'how long the old one signs, too; a day unless said', 'overlap_seconds', {
        parse: parseSeconds,
      }),
      SECRET,
      option('--end-previous', 'end the oldest of three secrets that still sign', 'end_previous_secret'),
    ],
    show: endpoint,
    note: SHOWN_ONCE,
  }),
  row('end-previous-secret <endpoint>', 'sign with the current secret alone from now on', 'endPreviousWebhookSecret', {
    show: endpoint,
  }),
  row('test <endpoint>', 'send a test, and say what came of it', 'testWebhookEndpoint', {
    options: [option('--type <type>', 'an example of this type', 'type')],
    show: delivery,
  }),
  row('deliveries <endpoint>', 'list the deliveries of a webhook endpoint, newest first', 'listWebhookDeliveries', {
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
      option('--since <time>', 'only those that were made then or later', 'since'),
      option('--until <time>', 'only those that were made until then', 'until'),
      limit(20),
    ],
  }),
  row('delivery <delivery>', 'show a delivery with its attempts', 'getWebhookDelivery', { show: delivery }),
  row('retry <delivery>', 'attempt a delivery again, now', 'retryWebhookDelivery', { show: delivery }),
  row('replay <endpoint>', 'attempt many deliveries again', 'replayWebhookDeliveries', {
    options: [
      option('--status <status>', 'failed, succeeded or all; failed unless said', 'status'),
      option('--type <type>', 'a type or family of events; may be repeated', 'types', { parse: collectList }),
      option('--since <time>', 'made then or later', 'since'),
      option('--until <time>', 'made until then', 'until'),
    ],
  }),
  row('types', 'list the types of events that there are', 'listEventTypes', {
    columns: ['type', 'source', 'description'],
    shortened: ['description'],
  }),
];

const EVENT_COMMANDS = [
  row('list <account>', 'list the events of an account, newest first', 'listEvents', {
    columns: ['at', 'type', 'source', 'resource', 'id'],
    shortened: ['resource', 'type'],
    cells: (one) => ({ ...one, at: minute(one) }),
    options: [limit(20)],
  }),
  row('show <event>', 'show an event', 'getEvent'),
];

/** Adds both groups. */
export function addWebhookCommands(program: Command, terminal: Terminal): void {
  addCommands(program, terminal, 'webhooks', 'the webhook endpoints of an account', WEBHOOK_COMMANDS);
  addCommands(program, terminal, 'events', 'what accounts have been told', EVENT_COMMANDS);
}

function parseSeconds(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** An endpoint for people: of its public keys the keys. */
function endpoint(fields: Fields, options: CommonOptions): string {
  const keys = fields['public_keys'];
  if (options.json === true || !Array.isArray(keys)) return showFields(fields, options);
  return showFields({ ...fields, public_keys: (keys as Fields[]).map(({ key }) => key) }, options);
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
