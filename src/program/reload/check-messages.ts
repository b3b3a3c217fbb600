/** Defines the messages between the program and the process that checks a changed configuration. */
import type { ConfigPart } from '../../config/config-parts.js';
import type { FixedSettings } from '../../config/fixed-settings.js';
import type { Environment } from '../../config/model/schema.js';

/** CheckRequest names a configuration to check. */
export interface CheckRequest {
  readonly path: string;
  readonly environment: Environment;
  /** Settings that change only at a restart, with their running values. The public description uses these values. */
  readonly fixed: FixedSettings;
  /** Whether this program serves the public API description, so that the check must create it. */
  readonly describes: boolean;
}

/**
 * ToCheck is a message to the checking process. `check` starts a check. Each `next` requests the next part of the
 * result.
 */
export type ToCheck = { readonly type: 'check'; readonly request: CheckRequest } | { readonly type: 'next' };

/** FromCheck is a message of the checking process: a refusal, or `valid` followed by the parts of the configuration. */
export type FromCheck =
  | {
      readonly type: 'refused';
      /** Problems in the format of `trailgate check`. */
      readonly problems: string;
      /**
       * Paths of the OpenAPI documents of the configuration. The program watches them, because a change may fix the
       * problem.
       */
      readonly files: readonly string[];
      /** Resident memory of the process after the check, in bytes. */
      readonly residentBytes: number;
    }
  | { readonly type: 'valid'; readonly warnings: readonly string[]; readonly residentBytes: number }
  | { readonly type: 'part'; readonly part: ConfigPart };
