/** An option of a benchmark's command line that is a whole number. */

/**
 * @param {Record<string, unknown>} values as `parseArgs` gives them
 * @returns {(name: string, otherwise: number, most: number) => number} reads one; throws one line for what is not from 1 to `most`
 */
export function wholeNumbers(values) {
  return (name, otherwise, most) => {
    const value = Number(values[name] ?? otherwise);
    if (!Number.isInteger(value) || value < 1 || value > most) throw new Error(`--${name} must be from 1 to ${most}`);
    return value;
  };
}
