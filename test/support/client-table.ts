/** Formats the results of foreign clients for docs/clients.md, without what differs from one run to the next. */
import type { ClientOutcome } from './foreign-clients.js';

/** Results of the calls of a client. */
export interface ClientResult extends ClientOutcome {
  readonly client: string;
  readonly scenario: string;
  /** Path of the request. */
  readonly path: string;
  /** Statuses of the responses, one per request. */
  readonly statuses: readonly number[];
}

/** A client as the page names it. */
export interface ClientEntry {
  readonly name: string;
  readonly version: string;
  /** Field of the client's error that holds `detail`. */
  readonly detailOf: string;
}

/** Sums of waits, in words that chance in a client's pauses does not change. */
const WAITS: readonly (readonly [mostMs: number, words: string])[] = [
  [0, 'none'],
  [1_900, 'under 2 s'],
  [20_000, 'under 20 s'],
  [40_000, 'half a minute'],
  [80_000, 'a minute'],
  [Infinity, 'longer'],
];

/**
 * The tables of the page: the clients, then for each scenario what they did.
 * @param titles of the scenarios, in their order.
 */
export function clientTables(
  clients: readonly ClientEntry[],
  titles: Readonly<Record<string, string>>,
  results: readonly ClientResult[],
): string {
  const versions = table(
    ['client', 'version', 'where it has our words'],
    clients.map(({ name, version, detailOf }) => [`\`${name}\``, version, `\`${detailOf}\``]),
  );
  const played = Object.entries(titles).map(([scenario, title]) => {
    const rows = results.filter((result) => result.scenario === scenario).map(rowOf);
    return `### ${title}\n\n${table(['client', 'requests', 'waits in all', 'its user sees'], rows)}`;
  });
  return [`### The clients\n\n${versions}`, ...played].join('\n\n');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function rowOf(result: ClientResult): string[] {
  const { client, statuses, waitsMs } = result;
  const sumMs = waitsMs.reduce((sum, ms) => sum + ms, 0);
  const [, waits = ''] = WAITS.find(([mostMs]) => sumMs <= mostMs) ?? [];
  return [`\`${client}\``, String(statuses.length), waits, seenOf(result)];
}

function seenOf({ statuses, text, detail }: ClientResult): string {
  if (text !== null) return `\`${withoutChance(text)}\``;
  if ((statuses.at(-1) ?? 0) < 400) return 'the response';
  return detail === null ? 'nothing' : 'the problem, in place of the response';
}

function withoutChance(text: string): string {
  return text
    .replace(/\{"type".*\}/, '‹problem›')
    .replaceAll(/https?:\/\/127\.0\.0\.1:\d+\/[\w./-]+/g, 'https://…')
    .replaceAll(/host='[^']+', port=\d+/g, "host='…', port=443")
    .replaceAll(/with url: \S+/g, 'with url: /…')
    .replaceAll(/\s+/g, ' ')
    .replaceAll('|', '\\|');
}
