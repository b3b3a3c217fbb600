/** Implements `server/discover` (2026-07-28, Discovery), which returns versions, capabilities and instructions. */
import { MODERN_VERSION } from '../protocol/versions.js';
import type { Method } from '../method-call.js';
import { serverMembers } from './server-words.js';

export const discover: Method = {
  name: 'server/discover',
  era: 'modern',
  isCacheable: true,
  computeResult: (call) => `"supportedVersions":["${MODERN_VERSION}"],${serverMembers(call)}`,
};
