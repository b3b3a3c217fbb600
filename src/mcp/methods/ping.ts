/** Implements `ping` of the legacy versions (2025-11-25, Ping). The result is empty. */
import type { Method } from '../method-call.js';

export const ping: Method = { name: 'ping', era: 'legacy', computeResult: () => '' };
