/** Formats the `Strict-Transport-Security` field (RFC 6797 section 6.1). */
import type { HstsConfig } from './listener-schema.js';

const DAY_SECONDS = 86_400;

/** Returns the name and the value of the header. Returns an empty list if HSTS is not configured. */
export function hstsField(config: HstsConfig): readonly string[] {
  if (config === undefined) return [];
  const directives = [
    `max-age=${config.maxAge * DAY_SECONDS}`,
    ...(config.includeSubDomains ? ['includeSubDomains'] : []),
    ...(config.preload ? ['preload'] : []),
  ];
  return ['Strict-Transport-Security', directives.join('; ')];
}
