/** Parses the command-line options of benchmarks, and prints their help. */
import { parseArgs } from 'node:util';

/**
 * @typedef {object} Option
 * @property {string} about description in the help
 * @property {string} [takes] placeholder of the value in the help; without it the option is a boolean
 * @property {number | { normal: number, quick: number }} [normal] default number; `quick` is the default with --quick
 * @property {number} [least] minimum (1)
 * @property {number} [most] maximum; set for all numbers
 * @property {readonly string[]} [among] allowed values; the user gives a comma-separated list
 */

/** Options that every benchmark has. */
const COMMON = {
  'no-build': { about: 'measure dist/ as it stands' },
  'write-docs': { about: 'put the result into docs/benchmarks.md' },
  help: { about: 'show this' },
};

/**
 * Parses the options of a benchmark.
 * @param {Record<string, Option>} rows
 * @param {string[]} args
 * @returns {Record<string, any>} values by name: numbers, booleans, strings, or arrays for options with `among`
 * @throws a one-line error for the first invalid option
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
    if (unknown.length > 0) throw new Error(`--${name}: unknown ${unknown.join(', ')}; use ${among.join(', ')}`);
    return wanted;
  }
  if (most === undefined) return given;
  const value = Number(given ?? (values.quick ? normal.quick : (normal.normal ?? normal)));
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new Error(`--${name} must be an integer from ${least} to ${most}`);
  }
  return value;
}

/**
 * Returns the help text of a benchmark.
 * @param {string} [note] last paragraph
 */
export function helpOf(command, rows, note) {
  const lines = Object.entries({ ...rows, ...COMMON }).map(([name, { takes, about, normal, among }]) => {
    const usual = normal === undefined ? '' : ` (${normal.normal ?? normal})`;
    const values = among === undefined ? '' : `: ${among.join(', ')}`;
    return `  ${`--${name}${takes === undefined ? '' : ` ${takes}`}`.padEnd(18)} ${about}${values}${usual}`;
  });
  return [`npm run ${command} -- [options]`, ...lines, ...(note === undefined ? [] : ['', note])].join('\n');
}
