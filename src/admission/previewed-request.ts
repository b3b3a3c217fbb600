/** A hypothetical request, for previews. */
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
  /** Undefined if there is none, and for built-in pages. */
  operation: Operation | undefined;
  builtIn: BuiltIn | undefined;
  /** Limits of the key's plan. Undefined if the plan is not configured or the counters are unavailable. */
  live: Preview | undefined;
  shadow: Preview | undefined;

  /**
   * @param asked an operation, or the method and URL of a request.
   * @param key see `ApiKeyCache.build`.
   * @param clientAddress undefined to skip the address checks.
   */
  constructor(
    asked: Operation | { readonly method: string; readonly url: string },
    readonly key: CachedKey,
    readonly clientAddress: string | undefined,
  ) {
    this.method = asked.method;
    this.url = 'url' in asked ? asked.url : '';
    this.operation = 'url' in asked ? undefined : asked;
  }

  get path(): string {
    const [path = ''] = this.url.split('?');
    return path;
  }
}
