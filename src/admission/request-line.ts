/**
 * What may stand in the first line of a request, before anybody looks for what it asks for. Refuses with 400, 414, 501.
 */
import { methodProblem } from '../platform/methods.js';
import { Problem } from '../platform/problems/errors.js';
import { queryProblem } from './query.js';

/** Longest path and query. Node's own limit is on the whole head and answers with a less helpful 431. */
const LONGEST_URL = 8_192;

/** What is wrong with method and URL of a request; undefined where nothing is. */
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
