/** The error codes as JSON, for programs: status, fault, meaning and advice. */
import type { ErrorEntry } from '../platform/problems/error-entry.js';
import { ERRORS } from '../platform/problems/errors.js';
import { isErrorCode } from './error-pages.js';

let text: string | undefined;

/** Returns all codes as JSON. Built at first use. */
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
