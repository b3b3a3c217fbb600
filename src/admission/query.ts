/** The query of a request target: what may stand there as it is. */
import { Problem } from '../platform/problems/errors.js';

/**
 * Characters that no client sends raw. Allowed are the characters of RFC 3986 section 3.4, and those that browsers leave raw in a
 * query (WHATWG URL, query percent-encode set). The backend judges a percent sign that begins no escape.
 */
const UNFIT = /[^A-Za-z0-9._~!$&'()*+,;=:@/?%[\]\\^`{|}-]/;

/** What is wrong with the query or with a fragment of a URL, undefined where nothing is. */
export function queryProblem(url: string): Problem | undefined {
  const at = url.search(/[?#]/);
  const unfit = at === -1 ? undefined : UNFIT.exec(url.slice(at))?.[0];
  return unfit === undefined ? undefined : new Problem('bad_request', { detail: adviceOn(unfit) });
}

function adviceOn(character: string): string {
  if (character === '#') return 'A fragment is not sent to a server. As a part of a value, write # as %23.';
  if (character <= ' ' || character > '~')
    return 'The query has characters that a URL cannot have: percent-encode them.';
  return `The query has ${character} in it, which a URL cannot have: write it as ${encodeURIComponent(character)}.`;
}
