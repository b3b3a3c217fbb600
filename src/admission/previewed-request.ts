/** A request that is not made, as the steps are asked of it. */
import type { Operation } from '../config/model/schema.js';
import type { CachedKey } from '../keys/cached-key.js';
import type { Preview } from '../quota/preview.js';

/** BuiltIn is what the gateway answers itself, which costs nothing: to whoever has a key, or to everyone. */
export type BuiltIn = 'keyed' | 'public';

/** PreviewedRequest is a request that is not made, and what the steps find out of it. */
export class PreviewedRequest {
  readonly method: string;
  /** Empty where an operation is named. */
  readonly url: string;
  /** Undefined where none is found, and for what is built in. */
  operation: Operation | undefined;
  builtIn: BuiltIn | undefined;
  /** The limits of the key's plan; undefined where the plan is not in the configuration, or nobody knows the counts. */
  live: Preview | undefined;
  shadow: Preview | undefined;

  /**
   * @param asked an operation, or method and URL as they would come in.
   * @param key as requests would find it.
   * @param clientAddress undefined: from anywhere that the key may be used from.
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

  /** The path without the query. */
  get path(): string {
    const [path = ''] = this.url.split('?');
    return path;
  }
}
