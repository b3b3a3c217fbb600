/**
 * Writes the catalog of error codes as JSON, for programs: status, title, meaning, action and who must fix the error.
 */
import type { ErrorEntry } from '../platform/problems/error-entry.js';
import { ERRORS } from '../platform/problems/errors.js';
import { isErrorCode } from './error-pages.js';

/** The cached JSON. Undefined before the first use. */
let text: string | undefined;

/** Returns all error codes as JSON, without the advice for AI assistants. */
export function errorCatalogueText(): string {
  text ??= JSON.stringify({
    errors: Object.keys(ERRORS)
      .filter(isErrorCode)
      .map((code) => {
        const { assistant: _, ...entry }: ErrorEntry = ERRORS[code];
        return { code, ...entry };
      }),
  });
  return text;
}
