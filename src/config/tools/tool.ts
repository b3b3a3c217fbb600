/** API operations as MCP tools for AI assistants (2026-07-28, Tools). */
import type { ToolAnnotations } from '../model/described-tool.js';
import type { Operation } from '../model/schema.js';

/** A self-contained JSON Schema (2020-12). */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Default number of tools above which they are searched. Each listed tool costs tokens in every conversation. */
export const MOST_LISTED = 25;
/**
 * Property that wraps lists and scalars, because clients of the 2025 versions accept only objects as structured
 * content.
 */
export const WRAPPED_UNDER = 'result';

/** Integer formats that can exceed JavaScript's range (OpenAPI Format Registry). */
export const LONG_FORMATS: ReadonlySet<unknown> = new Set(['int64', 'uint64']);
/** Pattern by which the schema of a tool allows the digits of such a number as a text. */
export const LONG_DIGITS = String.raw`^-?\d+$`;

/** An operation that assistants can call. */
export interface Tool {
  /** Unique, such as `list_customers`: `^[a-z][a-z0-9_]{0,39}$`. */
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string;
  /** Operation of the running configuration. */
  readonly operation: Operation;
  /** Schema of the arguments: an object without additional properties. */
  readonly inputSchema: JsonSchema;
  /** Schema of `structuredContent`; undefined: the response is text only. */
  readonly outputSchema: JsonSchema | undefined;
  readonly annotations: ToolAnnotations;
  /** Entry in `tools/list`, serialized once. */
  readonly json: string;
  /** Estimated tokens of `json`: a quarter of its characters. */
  readonly tokens: number;
  /** Arguments that limit or page the response, such as `limit` and `cursor`, in order. */
  readonly pagingArguments: readonly string[];
  /** Validates arguments and creates the request. Never throws. The backend may still reject valid arguments. */
  readonly bind: (args: Readonly<Record<string, unknown>>) => BoundRequest | ArgumentFaults;
  /**
   * Returns the part of a response body that matches `outputSchema`, so that clients accept it. Returns undefined
   * without `outputSchema`.
   * @param body parsed JSON, not modified
   */
  readonly structure: (body: unknown) => Readonly<Record<string, unknown>> | undefined;
}

/** The request of a tool call. */
export interface BoundRequest {
  /** Path and query without the base path, such as `/customers?limit=20`. */
  readonly url: string;
  /**
   * Field lines of the parameters, plus `accept` and, with a body, `content-type`. Lower-case names, CRLF after each
   * line. Without `content-length`, `host` and `authorization`.
   */
  readonly lines: string;
  /** UTF-8. */
  readonly body: Buffer | undefined;
}

/** Faults of invalid arguments: one to ten. */
export interface ArgumentFaults {
  readonly faults: readonly ArgumentFault[];
}

/** A fault of an argument. */
export interface ArgumentFault {
  /** Location, such as `email`, `emergency_contact.phone` or `activities[2]`; empty: the arguments as a whole. */
  readonly field: string;
  /** Follows the field: `must be a whole number`. */
  readonly detail: string;
}

/** All tools of a configuration. */
export interface ToolSet {
  /** Tools in operation order. */
  readonly tools: readonly Tool[];
  readonly byName: ReadonlyMap<string, Tool>;
}

/** Reports whether binding failed. */
export function areFaults(bound: BoundRequest | ArgumentFaults): bound is ArgumentFaults {
  return 'faults' in bound;
}
