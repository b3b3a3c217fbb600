/** Formats the tables of loads, and writes them to docs/benchmarks.md and to the result file of a commit. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { FOREIGN_USE_LIMIT, replaceInDocs } from '../report.mjs';

const RESULTS = path.join(import.meta.dirname, '../results');

/** Formats a figure with `digits` decimal places. Returns `–` if it is undefined. */
export function fixed(value, digits = 1) {
  return value === undefined ? '–' : value.toFixed(digits);
}

/** Formats a figure as an integer. Returns `–` if it is undefined. */
export const whole = (value) => (value === undefined ? '–' : Math.round(value).toLocaleString('en'));

/**
 * Returns a column with the median of a figure.
 * @param {string} name name of the figure
 */
export const medianOf = (name, digits) => (row) => fixed(row.medians[name], digits);

/** Columns of most loads. */
export const COLUMNS = {
  'CPU µs/request, lowest': (row) => fixed(row.lowestCpu),
  median: medianOf('cpuMicroseconds', 1),
  'requests/s': (row) => whole(row.medians.requestsPerSecond),
  'p50 ms': medianOf('p50', 2),
  'p99 ms': medianOf('p99', 2),
  'memory MB': medianOf('residentMegabytes', 0),
  'Redis calls/request': medianOf('redisCalls', 2),
  "use of the gateway's core": (row) => `${fixed(row.medians.gatewayCoreUse * 100, 0)} %`,
};

/**
 * Returns a table as Markdown.
 * @param {string} first heading of the first column, which contains the titles of the rows
 * @param {Record<string, (row: object) => string>} columns functions that format a cell, by heading
 */
export function tableOf(first, rows, columns) {
  const lines = rows.map((row) => [row.title, ...Object.values(columns).map((cell) => cell(row))]);
  const head = [first, ...Object.keys(columns)];
  const alignment = head.map((_, i) => (i === 0 ? '---' : '---:'));
  return [head, alignment, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Returns a line that says whether an aim is met. */
export function aimLine(what, measured, met) {
  return `- ${met ? 'Met' : '**Not met**'}: ${what}. Measured: ${measured}.`;
}

/** Returns warnings about other work on the machine, and about rounds without Redis. */
export function notesOf(rows) {
  const disturbed = rows.filter(({ worstForeignUse }) => worstForeignUse > FOREIGN_USE_LIMIT);
  const worst = Math.max(...disturbed.map(({ worstForeignUse }) => worstForeignUse));
  const lost = rows.filter(({ rounds }) => rounds.some(({ lostRedis }) => lostRedis));
  const names = (some) => some.map(({ id }) => id).join(', ');
  return [
    disturbed.length > 0 &&
      `Other work used up to ${Math.round(worst * 100)} % of a core. Do not trust the times of: ${names(disturbed)}.`,
    lost.length > 0 &&
      `Redis was too slow at times. The gateway then counted without it, which is cheaper, in: ${names(lost)}.`,
  ].flatMap((line) => (line ? [`> ${line}`] : []));
}

/** Returns a line with the commit, the machine, the versions and the settings. */
export function caption({ commit, date, machine, settings }) {
  const { node, nginx, redis, wrk } = machine.versions;
  return (
    `Commit ${commit}, ${date.slice(0, 10)}; ${machine.cpu}, ${machine.cores} cores, Linux ${machine.kernel}; ` +
    `Node ${node}, nginx ${nginx}, Redis ${redis}, wrk ${wrk}; ${settings}.`
  );
}

/** Writes a load's figures into the result file of the commit. Returns the path relative to the project. */
export function writeLoadResult(id, result) {
  mkdirSync(RESULTS, { recursive: true });
  const file = path.join(RESULTS, `${result.commit}-loads.json`);
  const all = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  writeFileSync(file, `${JSON.stringify({ ...all, [id]: result }, undefined, 2)}\n`);
  return path.relative(path.join(import.meta.dirname, '../../..'), file);
}

/** Writes a load's table into docs/benchmarks.md. */
export function writeLoadDocs(id, text) {
  replaceInDocs(`load ${id}`, 'bench:loads', text);
}
