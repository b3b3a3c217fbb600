/** Has something done when the file has ended, whatever came of it: for what lives longer than a test, and no longer than its file. */
export function atEndOfFile(end: () => Promise<unknown>): void;
