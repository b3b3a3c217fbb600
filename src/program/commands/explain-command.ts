/**
 * Defines `trailgate explain`, which shows the response that a request with a key would get, and which limits apply.
 */
import type { Command } from 'commander';
import type { Fields } from './admin-client.js';
import { fieldsTable, rowsTable } from './table.js';
import { clientAction, type CommonOptions, type Terminal } from './terminal.js';

const STEP_COLUMNS = ['step', 'verdict', 'status', 'code'];
const LIMIT_COLUMNS = ['policy', 'limit', 'source', 'granted', 'used', 'remaining', 'resets_at', 'refuses'];

interface ExplainOptions extends CommonOptions {
  readonly from?: string;
  readonly host?: string;
}

/** Matches a URL. Captures its host, with the port, and its path with the query. */
const URL_PARTS = /^https?:\/\/([^/?#]*)([^#]*)/i;

export function addExplainCommand(program: Command, terminal: Terminal): void {
  const explain = program
    .command('explain')
    .description('explain whether a request is allowed now and which limits apply; counts nothing')
    .argument('<key>', 'id of the key')
    .argument('<method or operation>', 'GET, POST, …; or an operation id')
    .argument('[path]', 'URL, or path including the base path, such as /api/v1/customers')
    .option('--host <host>', 'requested host, if it decides which API serves the path; default: that of the URL')
    .option('--from <address>', 'source address of the request');
  clientAction<ExplainOptions>(explain, terminal, async (client, [key = '', what = '', target], options) => {
    const request = target === undefined ? { operation: what } : { method: what.toUpperCase(), ...splitUrl(target) };
    const host = options.host === undefined ? {} : { host: options.host };
    const body = { api_key_id: key, ...request, ...host, client_address: options.from };
    const explanation = await client.call('explain', [], { body });
    return options.json === true ? `${JSON.stringify(explanation, null, 2)}\n` : describe(explanation);
  });
}

/** Splits a URL into host and path. Its scheme and fragment are dropped. A path is returned as it is. */
function splitUrl(target: string): { readonly host?: string; readonly path: string } {
  const [, host, path = ''] = URL_PARTS.exec(target) ?? [];
  if (host === undefined) return { path: target };
  return { host, path: path.startsWith('/') ? path : `/${path}` };
}

/** Formats an explanation as text. The result comes first, then the steps and limits that led to it. */
function describe(explanation: Fields): string {
  const answer = explanation['answer'] as Fields;
  const operation = explanation['operation'] as Fields | null;
  const hosts = (operation?.['hosts'] ?? []) as readonly string[];
  const limits = explanation['limits'] as readonly Fields[];
  const shadow = explanation['shadow'] as readonly Fields[];
  const blocks = [
    fieldsTable({
      answer: answer['admitted'] === true ? 'admitted' : `${String(answer['status'])} ${String(answer['code'])}`,
      ...(answer['detail'] === null ? {} : { detail: answer['detail'] }),
      ...(answer['retry_after_seconds'] === null ? {} : { retry_after_seconds: answer['retry_after_seconds'] }),
      operation:
        operation === null
          ? null
          : `${String(operation['id'])} (${String(operation['method'])} ${String(operation['path'])})`,
      ...(hosts.length === 0 ? {} : { hosts }),
      cost: explanation['cost'],
      account: explanation['account_id'],
      plan: explanation['plan'],
      charge: explanation['charge'],
      on_redis_loss: explanation['on_redis_loss'],
    }),
    `steps\n${rowsTable(STEP_COLUMNS, explanation['steps'] as readonly Fields[])}`,
    `limits\n${rowsTable(LIMIT_COLUMNS, limits)}`,
  ];
  if (shadow.length > 0) blocks.push(`shadow limits, which refuse nothing\n${rowsTable(LIMIT_COLUMNS, shadow)}`);
  return blocks.join('\n');
}
