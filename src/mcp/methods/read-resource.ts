/** Implements `resources/read`, which returns an OpenAPI document or the error codes. */
import { invalidParams, LEGACY_RESOURCE_NOT_FOUND, RpcError } from '../protocol/rpc-error.js';
import type { Method } from '../method-call.js';
import { resourcesOf } from './resources.js';

export const readResource: Method = {
  name: 'resources/read',
  isCacheable: true,
  computeResult({ era, message, parts }) {
    const { uri } = message.params;
    if (typeof uri !== 'string') return invalidParams('"uri" must be that of a resource.');
    const found = resourcesOf(parts.reference).find((resource) => resource.uri === uri);
    if (found === undefined) {
      const data = { uri: uri.slice(0, 1_000) };
      if (era === 'legacy') return new RpcError(LEGACY_RESOURCE_NOT_FOUND, 'Resource not found', 200, data);
      return invalidParams('Resource not found', data);
    }
    const { mimeType, text } = found;
    return `"contents":[${JSON.stringify({ uri, mimeType, text: text() })}]`;
  },
};
