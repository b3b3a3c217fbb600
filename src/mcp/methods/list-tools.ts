/**
 * Implements `tools/list`, which lists the tools that the key may call, in pages. The server's own tools come first,
 * then the operations in configuration order.
 */
import { invalidParams } from '../protocol/rpc-error.js';
import { visibleTools } from '../tools/visible-tools.js';
import type { Method } from '../method-call.js';

export const listTools: Method = {
  name: 'tools/list',
  isCacheable: true,
  computeResult({ key, parts, message }) {
    const { cursor } = message.params;
    const page = visibleTools(parts, key.scopeSet).page(cursor);
    return page ?? invalidParams('The cursor is invalid.');
  },
};
