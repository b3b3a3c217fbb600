/** Defines the interfaces of MCP methods and of the calls to them. */
import type { EndpointRequest } from '../admission/mounted/endpoint-request.js';
import type { CachedKey } from '../keys/cached-key.js';
import type { Problem } from '../platform/problems/errors.js';
import type { OpenedParts } from './mcp-parts.js';
import type { JsonObject, RpcRequest } from './protocol/message.js';
import type { ResultType } from './protocol/response-text.js';
import type { RpcError } from './protocol/rpc-error.js';
import type { Era } from './protocol/versions.js';

/**
 * MethodCall is an authenticated request for a method, with the functions that send its response. Every call must get
 * exactly one response.
 */
export interface MethodCall {
  readonly request: EndpointRequest;
  readonly message: RpcRequest;
  /** Era of the protocol that the client uses (`protocol/versions.ts`). */
  readonly era: Era;
  readonly key: CachedKey;
  readonly parts: OpenedParts;
  /**
   * Responds with a result.
   * @param members members of the result, as JSON without braces
   * @param resultType type of the result for modern clients (2026-07-28, Multi round-trip requests); default `complete`
   */
  respondWithResult(members: string, resultType?: ResultType): void;
  /** Responds with a JSON-RPC error. */
  respondWithError(error: RpcError): void;
  /**
   * Responds with an HTTP problem.
   * @param reason a `Problem`, or a thrown error
   */
  respondWithProblem(reason: unknown): void;
  /**
   * Counts a call that uses no quota, and adds the limit fields to the response. Resolves to the problem if the rate
   * limit refuses the call or the counters are unavailable. Never rejects.
   */
  countFree(): Promise<Problem | undefined>;
}

/** Method serves the requests for one method of the protocol. It has either `computeResult` or `serve`. */
export interface Method {
  readonly name: string;
  /** Protocol era that has this method. Undefined if both eras have it. */
  readonly era?: Era;
  /** Whether the specification requires a cache lifetime in the results of the method. */
  readonly isCacheable?: boolean;
  /**
   * Returns the members of the result as JSON without braces, for methods that use no quota. The caller counts the call
   * and sends the response. May reject with a problem.
   */
  computeResult?(call: MethodCall): string | RpcError | Promise<string | RpcError>;
  /** Serves a request for a method without `computeResult`. Counts the call and sends the response. Never throws. */
  serve?(call: MethodCall): void;
}

/** ServedMethods holds the methods that a server supports. The program has one set, and tests may have more. */
export interface ServedMethods {
  readonly byName: ReadonlyMap<string, Method>;
  /**
   * Handles a client's reply to a request of the server. Returns whether the server has sent this request. Missing if
   * the server sends no requests.
   */
  takeReply?(reply: JsonObject): boolean;
}
