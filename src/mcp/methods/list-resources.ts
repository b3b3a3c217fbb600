/** `resources/list` and `resources/templates/list`: two resources, no templates, one page each. */
import { invalidParams } from '../protocol/rpc-error.js';
import type { Method, MethodCall } from '../method-call.js';
import { resourcesOf } from './resources.js';

export const listResources: Method = {
  name: 'resources/list',
  isCacheable: true,
  result(call) {
    const list = resourcesOf(call.parts.reference).map(({ json }) => json);
    return hasCursor(call) ? NO_CURSOR : `"resources":[${list.join(',')}]`;
  },
};

export const listResourceTemplates: Method = {
  name: 'resources/templates/list',
  isCacheable: true,
  result: (call) => (hasCursor(call) ? NO_CURSOR : '"resourceTemplates":[]'),
};

const NO_CURSOR = invalidParams('The cursor is none that a list has given: there is one page.');

/** Reports whether the request has a cursor. Single-page lists never give one, so it is invalid. */
export function hasCursor({ message }: MethodCall): boolean {
  return message.params['cursor'] !== undefined;
}
