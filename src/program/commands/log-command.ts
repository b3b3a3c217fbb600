/**
 * Defines `trailgate logs`, which lists the requests of an account, or shows one request by its ID and explains the
 * response.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { oneLine, type AdminClient, type Fields } from './admin-client.js';
import { parseLimit } from './options.js';
import { fieldsTable } from './table.js';
import { clientAction, MAX_COLUMNS, type CommonOptions, type Terminal } from './terminal.js';

/** Pause between two reads with `--follow`. */
const FOLLOW_INTERVAL_MS = 2_000;
const LARGEST_PAGE = 100;
/** Width of a generated request ID, in characters. */
const ID_COLUMNS = 28;

interface LogsOptions extends CommonOptions {
  readonly key?: string;
  readonly operation?: string;
  readonly status?: string;
  readonly code?: string;
  readonly source?: string;
  readonly from?: string;
  readonly to?: string;
  readonly limit: number;
  readonly follow?: boolean;
}

export function addLogCommand(program: Command, terminal: Terminal): void {
  const logs = program
    .command('logs')
    .description('show the requests of an account, newest last; sampled at high rates')
    .argument('<account>', 'id of the account')
    .argument('[request]', 'X-Request-Id of a response: show its details, and the result it would have now')
    .option('--key <key>', 'only requests with this key')
    .option('--operation <id>', 'only requests of this operation')
    .option('--status <status>', 'only this status: 403, 4xx, error')
    .option('--code <code>', 'only this error code')
    .option('--source <source>', 'only this protocol: rest, mcp')
    .option('--from <instant>', 'only requests that ended at this time or later, such as 2026-11-22T10:00:00Z')
    .option('--to <instant>', 'only requests that ended at this time or earlier')
    .option('--limit <n>', 'maximum rows', parseLimit, 50)
    .option('--follow', 'print new requests until Ctrl-C; with --json one object per line');
  clientAction<LogsOptions>(logs, terminal, async (client, [account = '', request], options) => {
    if (request !== undefined) return detail(await client.call('getRequest', [account, request]), options);
    const { key, operation, status, code, source, from, to, limit } = options;
    const query = { api_key_id: key, operation, status, code, source, from, to };
    if (options.follow === true) return follow(client, account, query, options, terminal);
    const rows = await client.listRows('listRequests', [account], limit, query);
    if (options.json === true) return `${JSON.stringify(rows, null, 2)}\n`;
    if (rows.data.length === 0) return 'none\n';
    const cut = rows.has_more ? `… and earlier ones: --limit shows more than ${rows.data.length}\n` : '';
    return cut + new Lines().of(rows.data.toReversed());
  });
}

/** Prints new requests until the process ends. Never resolves. Rejects with `CommandError`. */
async function follow(
  client: AdminClient,
  account: string,
  query: Fields,
  { json }: LogsOptions,
  terminal: Terminal,
): Promise<string> {
  const lines = new Lines();
  const newest = await client.listRows('listRequests', [account], 1, query);
  const from = query['from'] ?? newest.data[0]?.['at'] ?? new Date(0).toISOString();
  for (let cursor: unknown; ;) {
    const page = await client.call('listRequests', [account], {
      query: { ...query, from, order: 'asc', limit: LARGEST_PAGE, cursor },
    });
    const data = page['data'] as Fields[];
    if (json === true) for (const row of data) terminal.out(`${JSON.stringify(row)}\n`);
    else terminal.out(lines.of(data));
    cursor = page['next_cursor'];
    if (page['has_more'] !== true) await sleep(FOLLOW_INTERVAL_MS);
  }
}

function detail(request: Fields, { json }: LogsOptions): string {
  if (json === true) return `${JSON.stringify(request, null, 2)}\n`;
  const { error, explanation, ...fields } = request;
  const meaning = error as Fields | null;
  const now = (explanation as Fields | null)?.['answer'] as Fields | undefined;
  const result =
    now === undefined
      ? 'the operation no longer exists'
      : now['admitted'] === true
        ? 'it would be admitted'
        : `${String(now['status'])} ${String(now['code'])}: ${String(now['detail'])}`;
  return fieldsTable({
    ...fields,
    ...(meaning === null ? {} : { means: meaning['title'], see: meaning['type'] }),
    now: result,
  });
}

/** Lines formats requests as lines of at most 80 characters. A heading precedes each day. */
class Lines {
  private day = '';

  of(rows: readonly Fields[]): string {
    return rows.map((row) => this.line(row)).join('');
  }

  private line(row: Fields): string {
    const at = String(row['at']);
    const day = at.slice(0, 10);
    const isNew = day !== this.day;
    this.day = day;
    const duration = Number(row['duration_ms']);
    const weight = Number(row['weight']);
    const text = [
      at.slice(11, 19),
      String(row['status']),
      `${duration < 100 ? duration.toFixed(1) : Math.round(duration)} ms`.padStart(9),
      oneLine(String(row['request_id'])).padEnd(ID_COLUMNS),
      [
        row['operation'] ?? row['method'],
        row['tool'] === null ? null : `(${String(row['tool'])})`,
        row['code'],
        weight > 1 ? `×${weight}` : null,
      ]
        .filter((part) => part !== null)
        .map((part) => oneLine(String(part)))
        .join(' '),
    ].join('  ');
    return `${isNew ? `${day}\n` : ''}${text.length > MAX_COLUMNS ? `${text.slice(0, MAX_COLUMNS - 1)}…` : text}\n`;
  }
}
