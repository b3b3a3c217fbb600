/** Summarizes rounds, formats tables, and writes the result file of a commit and the tables in docs/benchmarks.md. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../..');
const DOCS = path.join(ROOT, 'docs/benchmarks.md');
/** ID of the gateway to which the ratios refer. */
const REFERENCE = 'nginx-lua';
/** Share of the gateway's core above which other work makes the figures of a round unreliable. */
export const FOREIGN_USE_LIMIT = 0.05;

/** Returns the median. */
export const median = (values) => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

/** Returns the medians of all figures, the lowest CPU time and the ratios for each gateway. */
export function summarize(gateways) {
  const rows = gateways.map(({ id, title, rounds }) => {
    const names = Object.keys(rounds[0]).filter((name) => rounds[0][name] !== undefined);
    const medians = Object.fromEntries(names.map((name) => [name, median(rounds.map((round) => round[name]))]));
    const lowestCpu = Math.min(...rounds.map((round) => round.cpuMicroseconds));
    const worstForeignUse = Math.max(...rounds.map((round) => round.foreignCoreUse));
    return { id, title, medians, lowestCpu, worstForeignUse, rounds };
  });
  const reference = rows.find(({ id }) => id === REFERENCE);
  return rows.map((row) => ({
    ...row,
    ratio: reference && row.lowestCpu / reference.lowestCpu,
    medianRatio: reference && row.medians.cpuMicroseconds / reference.medians.cpuMicroseconds,
  }));
}

/** Returns the table as Markdown, sorted by CPU time. */
export function table(rows) {
  const head = [
    'gateway',
    'CPU µs/request, lowest',
    'median',
    'ratio',
    'requests/s',
    'p50 ms',
    'p99 ms',
    'memory MB',
    'Redis calls/request',
    'Redis reads/request',
    "use of the gateway's core",
  ];
  const fixed = (value, digits) => (value === undefined ? '–' : value.toFixed(digits));
  const lines = rows
    .toSorted((a, b) => a.lowestCpu - b.lowestCpu)
    .map(({ title, lowestCpu, ratio, medians }) => [
      title,
      fixed(lowestCpu, 1),
      fixed(medians.cpuMicroseconds, 1),
      fixed(ratio, 2),
      Math.round(medians.requestsPerSecond).toLocaleString('en'),
      fixed(medians.p50, 2),
      fixed(medians.p99, 2),
      fixed(medians.residentMegabytes, 0),
      fixed(medians.redisCalls, 2),
      fixed(medians.redisReads, 2),
      `${fixed(medians.gatewayCoreUse * 100, 0)} %`,
    ]);
  const alignment = head.map((_, i) => (i === 0 ? '---' : '---:'));
  return [head, alignment, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Returns a line with the commit, the machine, the versions and the settings. */
export function caption({ commit, date, machine, settings }) {
  const { node, nginx, haproxy, redis, wrk } = machine.versions;
  const versions = `Node ${node}, nginx ${nginx}, HAProxy ${haproxy}, Redis ${redis}, wrk ${wrk}`;
  const rounds = `${settings.rounds} round${settings.rounds === 1 ? '' : 's'} of ${settings.seconds} s`;
  return (
    `Commit ${commit}, ${date.slice(0, 10)}; ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGigabytes} GB, ` +
    `Linux ${machine.kernel}; ${versions}; ${settings.connections} connections, ${rounds}.`
  );
}

/** Returns a warning for each gateway whose core other work used too much. */
export function warnings(rows) {
  return rows
    .filter(({ worstForeignUse }) => worstForeignUse > FOREIGN_USE_LIMIT)
    .map(
      ({ id, worstForeignUse }) =>
        `${id}: other work used up to ${Math.round(worstForeignUse * 100)} % of the gateway's core. Do not trust its times.`,
    );
}

/** Writes the result to `test/bench/results/<commit>.json`. Returns the path relative to the project. */
export function writeResult(result) {
  const folder = path.join(import.meta.dirname, 'results');
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${result.commit}.json`);
  writeFileSync(file, `${JSON.stringify(result, undefined, 2)}\n`);
  return path.relative(ROOT, file);
}

/** Replaces the text between the markers of a table in a page of the documentation. Throws if a marker is missing. */
export function replaceInDocs(mark, command, text, docs = DOCS) {
  const begin = `<!-- ${mark}: written by \`npm run ${command} -- --write-docs\` -->`;
  const end = `<!-- end of ${mark} -->`;
  const page = readFileSync(docs, 'utf8');
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${docs} has no markers for the table "${mark}".`);
  writeFileSync(docs, `${page.slice(0, from)}${begin}\n\n${text}\n\n${page.slice(to)}`);
}

/**
 * Returns a table with one figure per row as Markdown.
 * @param rows {what, figure, aim}
 */
export function figuresTable(rows) {
  const lines = rows.map(({ what, figure, aim = '–' }) => `| ${what} | ${figure} | ${aim} |`);
  return ['| what | measured | aim |', '| --- | ---: | ---: |', ...lines].join('\n');
}
