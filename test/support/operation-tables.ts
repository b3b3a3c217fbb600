/** A table of operations, and short texts for its match results. */
import type { Operation } from '../../src/config/model/schema.js';
import { OperationTable, type RouteMatch } from '../../src/proxy/routing/operation-table.js';

/** Operations of an API whose paths are easily confused. */
export const OPERATIONS = [
  'GET /',
  'GET /customers',
  'POST /customers',
  'GET /customers/{id}',
  'PATCH /customers/{id}',
  'DELETE /customers/{id}',
  'GET /customers/export',
  'DELETE /customers/archive.zip',
  'GET /customers/{id}/notes',
  'POST /customers/{id}/notes',
  'GET /customers/{id}/{part}',
  'GET /tours/',
  'HEAD /probe',
  'POST /probe',
].map((match, index): Operation => {
  const [method = '', template = ''] = match.split(' ');
  return { index, id: match, method, template, service: 'backend', scopes: [], cost: 1 };
});

/** Table with these operations, and with `/usage` as a path of the gateway itself. */
export const table = new OperationTable(OPERATIONS, new Map([['/usage', ['GET']]]));

/** Returns the ID of the matching operation, such as `GET /customers/{id}`, or the reason why none matches. */
export function describeRoute(method: string, path: string): string {
  return describeMatch(table.match(method, path));
}

/** Returns the ID of the matched operation, or the reason why there is none. */
export function describeMatch(match: RouteMatch): string {
  if (match.kind === 'operation') return match.operation.id;
  return match.kind === 'method_not_allowed' ? `405 ${match.allow}` : match.kind;
}
