/** What a method of the protocol is, and the request that it serves. */
import type { DoorRequest } from '../admission/doors/door-request.js';
import type { CachedKey } from '../keys/cached-key.js';
import type { Problem } from '../platform/problems/errors.js';
import type { OpenedParts } from './mcp-parts.js';
import type { JsonObject, RpcRequest } from './protocol/message.js';
import type { ResultType } from './protocol/response-text.js';
import type { RpcError } from './protocol/rpc-error.js';
import type { Era } from './protocol/versions.js';

/** MethodCall is a request for a method, with its key, and how it is responded to: once. */
export interface MethodCall {
  readonly request: DoorRequest;
  readonly message: RpcRequest;
  readonly era: Era;
  readonly key: CachedKey;
  readonly parts: OpenedParts;
  /**
   * Responds with a result.
   * @param members of it, as JSON without braces.
   * @param resultType to a modern client (2026-07-28, Multi round-trip requests); `complete` unless said.
   */
  respond(members: string, resultType?: ResultType): void;
  /** Responds with an error of the protocol. */
  fail(error: RpcError): void;
  /** Responds with a status of HTTP and a problem: of the request as a whole. */
  refuse(reason: unknown): void;
  /** Counts it as one that costs nothing. Resolves to why that is refused; never rejects. */
  countFree(): Promise<Problem | undefined>;
}

/** Method is one of the protocol. */
export interface Method {
  readonly name: string;
  /** In which eras there is such a method; undefined: in both. */
  readonly era?: Era;
  /** Whether the specification wants its result to say how long it may be kept. */
  readonly isCacheable?: boolean;
  /** What its result says; for those that say it at once, and cost nothing. May reject with a problem. */
  result?(call: MethodCall): string | RpcError | Promise<string | RpcError>;
  /** Serves a request otherwise: counts, responds, and never throws. */
  serve?(call: MethodCall): void;
}

/** ServedMethods are what a server serves. The program has one set of them; a test may have more. */
export interface ServedMethods {
  readonly byName: ReadonlyMap<string, Method>;
  /**
   * Takes what a client says to a request that the server has made of it. Whether there was such a request; without
   * this, the server makes none.
   */
  takeReply?(reply: JsonObject): boolean;
}
