/** The words for a request that asks for nothing that is published. */
import { Problem } from '../errors.js';
import { withoutSecrets } from '../keys/api-key-format.js';
import type { RouteMatch } from './operation-table.js';

/** Why a request has no operation. @param path as received, without the query. */
export function routeProblem(match: Exclude<RouteMatch, { kind: 'operation' }>, path: string): Problem {
  switch (match.kind) {
    case 'method_not_allowed':
      return new Problem('method_not_allowed', {
        detail: `This path supports ${match.allow}.`,
        headers: ['Allow', match.allow],
      });
    case 'invalid_path':
      return new Problem('invalid_path', {
        detail:
          'Write the path without empty, "." or ".." segments, and without encoded slashes, backslashes or semicolons.',
      });
    case 'not_found':
      return new Problem('route_not_found', {
        detail: `There is nothing at ${withoutSecrets(path).slice(0, 200)}.`,
      });
  }
}
