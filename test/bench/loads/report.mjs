/** Tables of the loads, their place in docs/benchmarks.md, and one result file by commit for all of them. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { FOREIGN_USE_LIMIT, replaceInDocs } from '../report.mjs';

const RESULTS = path.join(import.meta.dirname, '../results');

/** A figure with so many digits; `–` where there is none. */
export function fixed(value, digits = 1) {
  return value === undefined ? '–' : value.toFixed(digits);
}

export const whole = (value) => (value === undefined ? '–' : Math.round(value).toLocaleString('en'));

/** The column of a row's median. @param {string} name of the figure */
export const medianOf = (name, digits) => (row) => fixed(row.medians[name], digits);

/** Columns that most loads have. */
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

/** Rows as Markdown; the first column is the title. @param {Record<string, (row: object) => string>} columns */
export function tableOf(first, rows, columns) {
  const lines = rows.map((row) => [row.title, ...Object.values(columns).map((cell) => cell(row))]);
  const head = [first, ...Object.keys(columns)];
  const alignment = head.map((_, i) => (i === 0 ? '---' : '---:'));
  return [head, alignment, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** One line on an aim. @param {boolean} met */
export function aimLine(what, measured, met) {
  return `- ${met ? 'Met' : '**Not met**'}: ${what}. Measured: ${measured}.`;
}

/** What stands under a table when something was in the way; empty after a clean run. */
export function notesOf(rows) {
  const disturbed = rows.filter(({ worstForeignUse }) => worstForeignUse > FOREIGN_USE_LIMIT);
  const worst = Math.max(...disturbed.map(({ worstForeignUse }) => worstForeignUse));
  const lost = rows.filter(({ rounds }) => rounds.some(({ lostRedis }) => lostRedis));
  const names = (some) => some.map(({ id }) => id).join(', ');
  return [
    disturbed.length > 0 &&
      `Other work took up to ${Math.round(worst * 100)} % of a core; do not trust the times of: ${names(disturbed)}.`,
    lost.length > 0 &&
      `Redis was too slow at times, and the gateway counted by itself, which is another job: ${names(lost)}.`,
  ].flatMap((line) => (line ? [`> ${line}`] : []));
}

/** One line on what was measured where. */
export function caption({ commit, date, machine, settings }) {
  const { node, nginx, redis, wrk } = machine.versions;
  return (
    `Commit ${commit}, ${date.slice(0, 10)}; ${machine.cpu}, ${machine.cores} cores, Linux ${machine.kernel}; ` +
    `Node ${node}, nginx ${nginx}, Redis ${redis}, wrk ${wrk}; ${settings}.`
  );
}

/** Keeps a load's figures beside those of the others of the same commit. Returns the path, relative to the root. */
export function writeLoadResult(id, result) {
  mkdirSync(RESULTS, { recursive: true });
  const file = path.join(RESULTS, `${result.commit}-loads.json`);
  const all = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  writeFileSync(file, `${JSON.stringify({ ...all, [id]: result }, undefined, 2)}\n`);
  return path.relative(path.join(import.meta.dirname, '../../..'), file);
}

/** Puts a load's table into docs/benchmarks.md. */
export function writeLoadDocs(id, text) {
  replaceInDocs(`load ${id}`, 'bench:loads', text);
}
