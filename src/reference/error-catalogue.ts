/** The error codes as programs read them: each with its status, whose fault it is, what it means and what to do. */
import { ERRORS } from '../platform/problems/errors.js';
import { isErrorCode } from './error-pages.js';
import { ERROR_GUIDANCE } from './error-guidance.js';

let text: string | undefined;

/** All of them as JSON, made when somebody first asks. */
export function errorCatalogueText(): string {
  text ??= JSON.stringify({
    errors: Object.keys(ERRORS)
      .filter(isErrorCode)
      .map((code) => ({ code, ...ERRORS[code], ...ERROR_GUIDANCE[code] })),
  });
  return text;
}
