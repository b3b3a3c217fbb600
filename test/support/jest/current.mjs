/** The test file that runs now in this worker: what its `describe`, `it`, `expect` and `jest` are. */
export const current = { globals: {} };
