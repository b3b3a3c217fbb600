/** The globals of the test file that currently runs in this worker, and the callbacks for its end. */
export const current = { globals: {}, ends: [] };

/**
 * Registers a function to call at the end of the current test file, even if its tests fail. For resources that several
 * tests share.
 */
export function atEndOfFile(end) {
  current.ends.push(end);
}
