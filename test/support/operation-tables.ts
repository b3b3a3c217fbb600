/** A table of operations, and what a request finds in it in a word. */
import type { Operation } from '../../src/config/model/schema.js';
import { OperationTable, type RouteMatch } from '../../src/proxy/routing/operation-table.js';

/** Operations of an API in which paths are easily mistaken for each other. */
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

/** All of them, and a path of our own. */
export const table = new OperationTable(OPERATIONS, new Map([['/usage', ['GET']]]));

/** `GET /customers/{id}`, or why there is none. */
export function matched(method: string, path: string): string {
  return describeMatch(table.match(method, path));
}

/** The operation's id, or why there is none. */
export function describeMatch(match: RouteMatch): string {
  if (match.kind === 'operation') return match.operation.id;
  return match.kind === 'method_not_allowed' ? `405 ${match.allow}` : match.kind;
}
