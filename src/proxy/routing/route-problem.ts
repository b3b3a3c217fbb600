/** Creates the problems for requests that match no operation. */
import { FixedProblem, Problem } from '../../platform/problems/errors.js';
import { withoutSecrets } from '../../keys/api-key-format.js';
import type { RouteMatch } from './operation-table.js';
import { pathFault } from './path-fault.js';

/** Cache of `method_not_allowed` problems, at most one per configured path. */
const methodProblems = new WeakMap<RouteMatch, Problem>();

/** Returns the problem for a request without an operation. @param path as received, without the query. */
export function routeProblem(match: Exclude<RouteMatch, { kind: 'operation' }>, path: string): Problem {
  switch (match.kind) {
    case 'method_not_allowed':
      return methodProblem(match);
    case 'invalid_path':
      return new Problem('invalid_path', { detail: pathFault(path) });
    case 'not_found':
    case 'not_ours':
      return new Problem('route_not_found', {
        detail: `There is nothing at ${withoutSecrets(path).slice(0, 200)}.`,
      });
  }
}

function methodProblem(match: RouteMatch & { kind: 'method_not_allowed' }): Problem {
  let problem = methodProblems.get(match);
  if (problem === undefined) {
    const { allow } = match;
    problem = new FixedProblem('method_not_allowed', {
      detail: `This path supports ${allow}.`,
      headers: ['Allow', allow],
    });
    methodProblems.set(match, problem);
  }
  return problem;
}
