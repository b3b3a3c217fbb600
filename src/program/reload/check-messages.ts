/** What the running program and the process that checks a configuration tell each other over Node's channel. */
import type { ConfigPart } from '../../config/config-parts.js';
import type { FixedSettings } from '../../config/fixed-settings.js';
import type { Environment } from '../../config/model/schema.js';

/** What is to be checked. */
export interface CheckRequest {
  readonly path: string;
  readonly environment: Environment;
  /** What stays as it runs: the public description goes by it. */
  readonly fixed: FixedSettings;
  /** Whether somebody hands the public description out. */
  readonly describes: boolean;
}

/** The first is the request; each further one asks for the next part of the response. */
export type ToCheck = { readonly type: 'check'; readonly request: CheckRequest } | { readonly type: 'next' };

export type FromCheck =
  | {
      readonly type: 'refused';
      /** As `trailgate check` says it. */
      readonly problems: string;
      /** OpenAPI documents that it names: whoever mends one of them changes it. */
      readonly files: readonly string[];
      /** Of the process, now that all the work is done. */
      readonly residentBytes: number;
    }
  | { readonly type: 'valid'; readonly warnings: readonly string[]; readonly residentBytes: number }
  | { readonly type: 'part'; readonly part: ConfigPart };
