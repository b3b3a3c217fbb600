/** Defines the hypothetical request that `explain` passes through the admission steps. */
import type { Operation } from '../config/model/schema.js';
import type { CachedKey } from '../keys/cached-key.js';
import type { Preview } from '../quota/preview.js';
import type { HostedMessage } from './requested-host.js';

/**
 * BuiltIn is the kind of a page that the gateway serves itself, without using quota. `keyed` pages require an API key,
 * and `public` pages do not.
 */
export type BuiltIn = 'keyed' | 'public';

/** PreviewedTarget is the target of a request. */
export interface PreviewedTarget {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** Requested host, and address of the peer. */
  readonly message: HostedMessage;
}

const NO_HOST: HostedMessage = { headers: {}, socket: {} };

/** PreviewedRequest is a hypothetical request. The previewed steps store their results in its fields. */
export class PreviewedRequest {
  readonly method: string;
  /** Path and query. Empty if the preview is for an operation instead of a URL. */
  readonly url: string;
  /** Without a host if the preview is for an operation. */
  readonly message: HostedMessage;
  /** Operation of the request. Undefined if no operation matches, and for built-in pages. */
  operation: Operation | undefined;
  builtIn: BuiltIn | undefined;
  /**
   * Limits of the key's plan, with the current counts. Undefined if the plan is not configured or the counters are
   * unavailable.
   */
  live: Preview | undefined;
  /**
   * Shadow limits of the plan, with the current counts. Undefined if the plan has no shadow limits, or if `live` is
   * undefined.
   */
  shadow: Preview | undefined;

  /**
   * @param target an operation, or the target of a request.
   * @param key result of `ApiKeyCache.build`.
   * @param clientAddress IP address of the client. Undefined to skip the address checks.
   */
  constructor(
    target: Operation | PreviewedTarget,
    readonly key: CachedKey,
    readonly clientAddress: string | undefined,
  ) {
    this.method = target.method;
    this.url = 'url' in target ? target.url : '';
    this.message = 'url' in target ? target.message : NO_HOST;
    this.operation = 'url' in target ? undefined : target;
  }

  get path(): string {
    const [path = ''] = this.url.split('?');
    return path;
  }
}
