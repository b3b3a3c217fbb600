/**
 * Implements `initialize` of the legacy versions (2025-11-25, Lifecycle), which negotiates a version. The server has no
 * sessions, so it does not store the version.
 */
import { invalidParams } from '../protocol/rpc-error.js';
import { legacyVersionFor } from '../protocol/versions.js';
import type { Method } from '../method-call.js';
import { serverInfo, serverMembers } from './server-words.js';

export const initialize: Method = {
  name: 'initialize',
  era: 'legacy',
  computeResult(call) {
    const { protocolVersion } = call.message.params;
    if (typeof protocolVersion !== 'string') return invalidParams('"protocolVersion" must be a text.');
    const version = legacyVersionFor(protocolVersion);
    return `"protocolVersion":"${version}","serverInfo":${serverInfo(call)},${serverMembers(call)}`;
  },
};
