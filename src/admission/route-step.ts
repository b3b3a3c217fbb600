/**
 * Step 1 of 5: routing. Refuses requests with these status codes:
 * - 400 if the path is ambiguous.
 * - 404 if no operation has the path.
 * - 405 with `Allow` if no operation has both the path and the method.
 * - 410 if the operation is past its sunset or in a brownout.
 */
import { isReferencePage } from '../proxy/routing/built-in-paths.js';
import type { RouteMatch } from '../proxy/routing/operation-table.js';
import type { Problem } from '../platform/problems/errors.js';
import { routeProblem } from '../proxy/routing/route-problem.js';
import type { AdmissionRequest } from './admission-request.js';
import type { LifeCycle } from './life-cycle.js';
import type { BuiltIn, PreviewedRequest } from './previewed-request.js';
import type { Routes } from './routes.js';
import type { Step } from './step.js';

/** RouteStep finds the operation of a request and applies its deprecation dates. The step never waits. */
export class RouteStep implements Step {
  private readonly routes: Routes;
  private readonly lifeCycle: LifeCycle;

  constructor({ routes, lifeCycle }: { readonly routes: Routes; readonly lifeCycle: LifeCycle }) {
    this.routes = routes;
    this.lifeCycle = lifeCycle;
  }

  check(request: AdmissionRequest): boolean {
    const match = request.match ?? this.routes.match(request.method, request.path, request.message);
    if (match.kind === 'operation') {
      request.operation = match.operation;
      request.refusal = this.lifeCycle.apply(request, match.operation);
    } else {
      request.refusal = routeProblem(match, request.path);
    }
    return request.refusal === undefined;
  }

  conclude(): false {
    return false;
  }

  preview(request: PreviewedRequest): Problem | undefined {
    if (request.operation === undefined) {
      const match = this.routes.match(request.method, request.path, request.message);
      request.builtIn = builtInAt(match, request);
      if (request.builtIn !== undefined) return undefined;
      if (match.kind !== 'operation') return routeProblem(match, request.path);
      request.operation = match.operation;
    }
    return this.lifeCycle.problemFor(request.operation);
  }
}

/**
 * Returns the kind of the built-in page that serves a request, or undefined if there is none. The usage page requires a
 * key, and all other pages are public.
 */
function builtInAt(match: RouteMatch, { method, path }: PreviewedRequest): BuiltIn | undefined {
  if (match.kind !== 'not_ours') return undefined;
  if (match.builtIn !== undefined) return match.builtIn === '/usage' ? 'keyed' : 'public';
  return (method === 'GET' || method === 'HEAD') && isReferencePage(path) ? 'public' : undefined;
}
