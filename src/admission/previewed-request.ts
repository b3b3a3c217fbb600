/** A hypothetical request, for previews of the admission steps. */
import type { Operation } from '../config/model/schema.js';
import type { CachedKey } from '../keys/cached-key.js';
import type { Preview } from '../quota/preview.js';

/** BuiltIn is a page of the gateway that uses no quota: `keyed` requires an API key, `public` does not. */
export type BuiltIn = 'keyed' | 'public';

/** PreviewedRequest is a hypothetical request with the results of the steps. */
export class PreviewedRequest {
  readonly method: string;
  /** Empty if the preview is for an operation. */
  readonly url: string;
  /** Undefined if no operation matches, and for built-in pages. */
  operation: Operation | undefined;
  builtIn: BuiltIn | undefined;
  /** Limits and counts of the key's plan. Undefined if the plan is not configured or the counters are unavailable. */
  live: Preview | undefined;
  /** The same for the shadow limits of the plan. Undefined if the plan has none, too. */
  shadow: Preview | undefined;

  /**
   * @param target an operation, or the method and URL of a request.
   * @param key result of `ApiKeyCache.build`.
   * @param clientAddress undefined to skip the address checks.
   */
  constructor(
    target: Operation | { readonly method: string; readonly url: string },
    readonly key: CachedKey,
    readonly clientAddress: string | undefined,
  ) {
    this.method = target.method;
    this.url = 'url' in target ? target.url : '';
    this.operation = 'url' in target ? undefined : target;
  }

  get path(): string {
    const [path = ''] = this.url.split('?');
    return path;
  }
}
