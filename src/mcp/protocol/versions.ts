/**
 * Supported versions of the Model Context Protocol. Modern requests name their version. Legacy clients negotiate one
 * with `initialize`, which the server does not store. So its responses must be valid in every legacy version.
 */

/** Version of all modern requests and responses. */
export const MODERN_VERSION = '2026-07-28';
/** Newest first. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

/** Era of a request: modern or legacy protocol. */
export type Era = 'modern' | 'legacy';

const OLDEST_LEGACY = '2025-03-26';

export function isLegacyVersion(version: string): boolean {
  return (LEGACY_VERSIONS as readonly string[]).includes(version);
}

/** Negotiates a version with a legacy client: the newest that is not newer than requested, or the oldest. */
export function legacyVersionFor(asked: string): string {
  return LEGACY_VERSIONS.find((version) => version <= asked) ?? OLDEST_LEGACY;
}

// Members of `_meta` (2026-07-28, Basic, General fields).
export const VERSION_MEMBER = 'io.modelcontextprotocol/protocolVersion';
export const CAPABILITIES_MEMBER = 'io.modelcontextprotocol/clientCapabilities';
export const SERVER_INFO_MEMBER = 'io.modelcontextprotocol/serverInfo';
export const SUBSCRIPTION_MEMBER = 'io.modelcontextprotocol/subscriptionId';
