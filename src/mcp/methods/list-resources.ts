/**
 * Implements `resources/list` and `resources/templates/list`. The resources are one OpenAPI document per API, and the
 * error codes. There are no templates, and each list has one page.
 */
import { invalidParams } from '../protocol/rpc-error.js';
import type { Method, MethodCall } from '../method-call.js';
import { resourcesOf } from './resources.js';

export const listResources: Method = {
  name: 'resources/list',
  isCacheable: true,
  computeResult(call) {
    const list = resourcesOf(call.parts.reference).map(({ json }) => json);
    return hasCursor(call) ? NO_CURSOR : `"resources":[${list.join(',')}]`;
  },
};

export const listResourceTemplates: Method = {
  name: 'resources/templates/list',
  isCacheable: true,
  computeResult: (call) => (hasCursor(call) ? NO_CURSOR : '"resourceTemplates":[]'),
};

const NO_CURSOR = invalidParams('The cursor is invalid: there is one page.');

/** Reports whether a request has a cursor. A list with one page never returns a cursor, so every cursor is invalid. */
export function hasCursor({ message }: MethodCall): boolean {
  return message.params['cursor'] !== undefined;
}
