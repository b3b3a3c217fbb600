/** What a method of the protocol is, and the request that it serves. */
import type { DoorRequest } from '../admission/doors/door-request.js';
import type { CachedKey } from '../keys/cached-key.js';
import type { Problem } from '../problems/errors.js';
import type { OpenedParts } from './mcp-parts.js';
import type { RpcRequest } from './protocol/message.js';
import type { RpcError } from './protocol/rpc-error.js';
import type { Era } from './protocol/versions.js';

/** MethodCall is a request for a method, with its key, and how it is responded to: once. */
export interface MethodCall {
  readonly request: DoorRequest;
  readonly message: RpcRequest;
  readonly era: Era;
  readonly key: CachedKey;
  readonly parts: OpenedParts;
  /** Responds with a result. @param members of it, as JSON without braces. */
  respond(members: string): void;
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
