/** Messages between the program and the process that checks a configuration. */
import type { ConfigPart } from '../../config/config-parts.js';
import type { FixedSettings } from '../../config/fixed-settings.js';
import type { Environment } from '../../config/model/schema.js';

/** A configuration to check. */
export interface CheckRequest {
  readonly path: string;
  readonly environment: Environment;
  /** Settings that stay until a restart. The public description uses them. */
  readonly fixed: FixedSettings;
  /** Whether this program serves the public description. */
  readonly describes: boolean;
}

/** The first message is the request. Each further one requests the next part of the response. */
export type ToCheck = { readonly type: 'check'; readonly request: CheckRequest } | { readonly type: 'next' };

export type FromCheck =
  | {
      readonly type: 'refused';
      /** Output of `trailgate check`. */
      readonly problems: string;
      /** OpenAPI documents of the configuration. A change of one may fix it. */
      readonly files: readonly string[];
      /** Resident memory of the process after the check. */
      readonly residentBytes: number;
    }
  | { readonly type: 'valid'; readonly warnings: readonly string[]; readonly residentBytes: number }
  | { readonly type: 'part'; readonly part: ConfigPart };
