/**
 * Supported versions of the Model Context Protocol, in two eras. Every modern request names its version. Legacy clients
 * negotiate a version with `initialize`, which the server does not store. So its responses must be valid in every
 * legacy version.
 */

/** Version of all modern requests and responses. */
export const MODERN_VERSION = '2026-07-28';
/** Supported legacy versions, newest first. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

/** Era of a request: modern or legacy protocol. */
export type Era = 'modern' | 'legacy';

const OLDEST_LEGACY = '2025-03-26';

export function isLegacyVersion(version: string): boolean {
  return (LEGACY_VERSIONS as readonly string[]).includes(version);
}

/** Returns the version for a legacy client: the newest that is not newer than the requested one, or the oldest. */
export function legacyVersionFor(requested: string): string {
  return LEGACY_VERSIONS.find((version) => version <= requested) ?? OLDEST_LEGACY;
}

// Members of `_meta` (2026-07-28, Basic, General fields).
export const VERSION_MEMBER = 'io.modelcontextprotocol/protocolVersion';
export const CAPABILITIES_MEMBER = 'io.modelcontextprotocol/clientCapabilities';
export const SERVER_INFO_MEMBER = 'io.modelcontextprotocol/serverInfo';
export const SUBSCRIPTION_MEMBER = 'io.modelcontextprotocol/subscriptionId';
