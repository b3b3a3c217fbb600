/** Interfaces of MCP methods and of the calls to them. */
import type { EndpointRequest } from '../admission/mounted/endpoint-request.js';
import type { CachedKey } from '../keys/cached-key.js';
import type { Problem } from '../platform/problems/errors.js';
import type { OpenedParts } from './mcp-parts.js';
import type { JsonObject, RpcRequest } from './protocol/message.js';
import type { ResultType } from './protocol/response-text.js';
import type { RpcError } from './protocol/rpc-error.js';
import type { Era } from './protocol/versions.js';

/** MethodCall is an authenticated request for a method. It gets exactly one response. */
export interface MethodCall {
  readonly request: EndpointRequest;
  readonly message: RpcRequest;
  /** Generation of the protocol that the client speaks (`protocol/versions.ts`). */
  readonly era: Era;
  readonly key: CachedKey;
  readonly parts: OpenedParts;
  /**
   * Responds with a result.
   * @param members members of the result, as JSON without braces
   * @param resultType for modern clients (2026-07-28, Multi round-trip requests); default `complete`
   */
  respond(members: string, resultType?: ResultType): void;
  /** Responds with a JSON-RPC error. */
  fail(error: RpcError): void;
  /** Responds with an HTTP problem, for a failure of the whole request. */
  refuse(reason: unknown): void;
  /** Counts a call that uses no quota. Resolves to the problem if the rate limit refuses the call. Never rejects. */
  countFree(): Promise<Problem | undefined>;
}

/** Method is a method of the protocol. */
export interface Method {
  readonly name: string;
  /** The protocol era that has this method. Undefined if both eras have it. */
  readonly era?: Era;
  /** Whether the specification requires a cache lifetime in the result. */
  readonly isCacheable?: boolean;
  /** Returns the members of the result, for methods that use no quota. May reject with a problem. */
  result?(call: MethodCall): string | RpcError | Promise<string | RpcError>;
  /** Serves a request of any other method, including counting and responding. Never throws. */
  serve?(call: MethodCall): void;
}

/** ServedMethods is the set of methods that a server supports. The program has one set, and tests may have more. */
export interface ServedMethods {
  readonly byName: ReadonlyMap<string, Method>;
  /**
   * Handles a client's reply to a request of the server. Returns whether there is such a request. A server without this
   * method sends no requests.
   */
  takeReply?(reply: JsonObject): boolean;
}
