/** Options of benchmarks as rows: what they take, what they mean, and their bounds. */
import { parseArgs } from 'node:util';

/**
 * @typedef {object} Option
 * @property {string} about meaning, for the help
 * @property {string} [takes] name of its value; without it the option is true or false
 * @property {number | { normal: number, quick: number }} [normal] its number where none is given; `quick` counts with --quick
 * @property {number} [least] smallest number (1)
 * @property {number} [most] largest number
 * @property {readonly string[]} [among] values, one or more with commas between them
 */

/** Options of every benchmark. */
const COMMON = {
  'no-build': { about: 'measure dist/ as it stands' },
  'write-docs': { about: 'put the result into docs/benchmarks.md' },
  help: { about: 'show this' },
};

/**
 * Reads the options of a benchmark.
 * @param {Record<string, Option>} rows
 * @param {string[]} args
 * @returns {Record<string, any>} values by name: numbers within their bounds, lists where values are `among` some
 * @throws one line for the first that is wrong
 */
export function readOptions(rows, args) {
  const all = { ...rows, ...COMMON };
  const types = Object.entries(all).map(([name, { takes }]) => [
    name,
    takes === undefined ? { type: 'boolean', default: false } : { type: 'string' },
  ]);
  const { values } = parseArgs({ args, options: Object.fromEntries(types) });
  const read = Object.entries(all).map(([name, row]) => [name, valueOf(name, row, values)]);
  return Object.fromEntries(read);
}

function valueOf(name, { normal, least = 1, most, among }, values) {
  const given = values[name];
  if (among !== undefined) {
    const wanted = given?.split(',');
    const unknown = wanted?.filter((each) => !among.includes(each)) ?? [];
    if (unknown.length > 0) throw new Error(`--${name}: no ${unknown.join(', ')}; ${among.join(', ')}`);
    return wanted;
  }
  if (most === undefined) return given;
  const value = Number(given ?? (values.quick ? normal.quick : (normal.normal ?? normal)));
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new Error(`--${name} must be from ${least} to ${most}`);
  }
  return value;
}

/** Returns the help of a benchmark. @param {string} [note] last paragraph */
export function helpOf(command, rows, note) {
  const lines = Object.entries({ ...rows, ...COMMON }).map(([name, { takes, about, normal, among }]) => {
    const usual = normal === undefined ? '' : ` (${normal.normal ?? normal})`;
    const values = among === undefined ? '' : `: ${among.join(', ')}`;
    return `  ${`--${name}${takes === undefined ? '' : ` ${takes}`}`.padEnd(18)} ${about}${values}${usual}`;
  });
  return [`npm run ${command} -- [options]`, ...lines, ...(note === undefined ? [] : ['', note])].join('\n');
}
