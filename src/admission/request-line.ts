/** Validates the method and URL of a request before routing. Refuses with 400, 414 or 501. */
import { methodProblem } from '../platform/methods.js';
import { Problem } from '../platform/problems/errors.js';
import { queryProblem } from './query.js';

/**
 * Maximum length of path and query, in characters. Node limits only the whole head, and its 431 does not tell the
 * client that the URL is too long.
 */
const LONGEST_URL = 8_192;

/** Returns the error in the method or URL of a request, or undefined if both are valid. */
export function requestLineProblem(method: string | undefined, url: string): Problem | undefined {
  return methodProblem(method) ?? urlProblem(url);
}

function urlProblem(url: string): Problem | undefined {
  if (url.length > LONGEST_URL) {
    return new Problem('uri_too_long', { detail: `A URL may have ${LONGEST_URL} characters.` });
  }
  if (!url.startsWith('/')) return new Problem('bad_request', { detail: 'The request target is not a path.' });
  return queryProblem(url);
}
