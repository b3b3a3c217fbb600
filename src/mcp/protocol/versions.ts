/**
 * The versions of the Model Context Protocol that are spoken. A modern request says its version itself; a legacy client
 * has agreed on one with `initialize`, and nothing of that is kept: what is said to it holds in every legacy version.
 */

/** What every modern request and response is written in. */
export const MODERN_VERSION = '2026-07-28';
/** Newest first. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

/** Era says by which of the two a request is served. */
export type Era = 'modern' | 'legacy';

const OLDEST_LEGACY = '2025-03-26';

export function isLegacyVersion(version: string): boolean {
  return (LEGACY_VERSIONS as readonly string[]).includes(version);
}

/**
 * The version to agree on with a legacy client: the one that it asks for where it is known, never a newer one, and the
 * oldest where all are newer.
 */
export function legacyVersionFor(asked: string): string {
  return LEGACY_VERSIONS.find((version) => version <= asked) ?? OLDEST_LEGACY;
}

// Members of `_meta` (2026-07-28, Basic, General fields).
export const VERSION_MEMBER = 'io.modelcontextprotocol/protocolVersion';
export const CAPABILITIES_MEMBER = 'io.modelcontextprotocol/clientCapabilities';
export const SERVER_INFO_MEMBER = 'io.modelcontextprotocol/serverInfo';
export const SUBSCRIPTION_MEMBER = 'io.modelcontextprotocol/subscriptionId';
