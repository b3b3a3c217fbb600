/** Formats the results of third-party HTTP clients for docs/clients.md, without values that change with each run. */
import type { ClientOutcome } from './foreign-clients.js';

/** Result of one call by a client. */
export interface ClientResult extends ClientOutcome {
  readonly client: string;
  readonly scenario: string;
  /** Path of the requests. */
  readonly path: string;
  /** Statuses of the responses, one per request. */
  readonly statuses: readonly number[];
}

/** A client as docs/clients.md lists it. */
export interface ClientEntry {
  readonly name: string;
  readonly version: string;
  /** Expression for the `detail` of the problem in the client's error. */
  readonly detailOf: string;
}

/** Descriptions for total wait times. The ranges are wide, so that random pauses of a client do not change the text. */
const WAITS: readonly (readonly [mostMs: number, words: string])[] = [
  [0, 'none'],
  [1_900, 'under 2 s'],
  [20_000, 'under 20 s'],
  [40_000, 'half a minute'],
  [80_000, 'a minute'],
  [Infinity, 'longer'],
];

/**
 * Returns the Markdown tables of docs/clients.md: the clients, then the results of each scenario.
 * @param titles titles of the scenarios, in the order of the page
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
