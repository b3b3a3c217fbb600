/** The error codes as programs read them: each with its status, whose fault it is, what it means and what to do. */
import type { ErrorEntry } from '../platform/problems/error-entry.js';
import { ERRORS } from '../platform/problems/errors.js';
import { isErrorCode } from './error-pages.js';

let text: string | undefined;

/** All of them as JSON, made when somebody first asks. */
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
