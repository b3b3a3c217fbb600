/** `Strict-Transport-Security` (RFC 6797 section 6.1), as the configuration wants it. */
import type { HstsConfig } from './listener-schema.js';

const DAY_SECONDS = 86_400;

/** Name and value of the field; empty where none is configured. */
export function hstsField(config: HstsConfig): readonly string[] {
  if (config === undefined) return [];
  const directives = [
    `max-age=${config.maxAge * DAY_SECONDS}`,
    ...(config.includeSubDomains ? ['includeSubDomains'] : []),
    ...(config.preload ? ['preload'] : []),
  ];
  return ['Strict-Transport-Security', directives.join('; ')];
}
