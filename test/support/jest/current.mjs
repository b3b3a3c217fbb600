/** The test file that runs now in this worker: what its `describe`, `it`, `expect` and `jest` are, and what ends with it. */
export const current = { globals: {}, ends: [] };

/** Has something done when the file has ended, whatever came of it: for what lives longer than a test, and no longer than its file. */
export function atEndOfFile(end) {
  current.ends.push(end);
}
