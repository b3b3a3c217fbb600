/**
 * Defines the supported versions of the Model Context Protocol, in two eras. Every modern request names its version.
 * Legacy clients negotiate a version with `initialize`, which the server does not store. So a response to a legacy
 * client must be valid in every legacy version.
 */

/** Protocol version of the modern era. */
export const MODERN_VERSION = '2026-07-28';
/** Supported protocol versions of the legacy era, newest first. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

/** Era of the protocol that a request uses. */
export type Era = 'modern' | 'legacy';

const OLDEST_LEGACY = '2025-03-26';

export function isLegacyVersion(version: string): boolean {
  return (LEGACY_VERSIONS as readonly string[]).includes(version);
}

/**
 * Returns the protocol version for a legacy client: the newest version that is not newer than the requested one. If all
 * versions are newer, returns the oldest.
 */
export function legacyVersionFor(requested: string): string {
  return LEGACY_VERSIONS.find((version) => version <= requested) ?? OLDEST_LEGACY;
}

// Names of members of `_meta` (2026-07-28, Basic, General fields).
export const VERSION_MEMBER = 'io.modelcontextprotocol/protocolVersion';
export const CAPABILITIES_MEMBER = 'io.modelcontextprotocol/clientCapabilities';
export const SERVER_INFO_MEMBER = 'io.modelcontextprotocol/serverInfo';
export const SUBSCRIPTION_MEMBER = 'io.modelcontextprotocol/subscriptionId';
