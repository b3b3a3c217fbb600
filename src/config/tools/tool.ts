/** Defines MCP tools, which are API operations that AI assistants can call (MCP 2026-07-28, Tools). */
import type { ToolAnnotations } from '../model/described-tool.js';
import type { Operation } from '../model/schema.js';

/** JsonSchema is a self-contained JSON Schema (2020-12). */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * Default of `mcp.mostListed`, the maximum number of listed tools. With more tools, assistants search for tools,
 * because each listed tool costs tokens in every conversation.
 */
export const MAX_LISTED = 25;
/**
 * Property of the object that wraps lists and scalars. Clients of the 2025 protocol versions accept only objects as
 * structured content.
 */
export const WRAPPED_UNDER = 'result';

/** Integer formats whose values can exceed 2^53 (OpenAPI Format Registry). */
export const LONG_FORMATS: ReadonlySet<unknown> = new Set(['int64', 'uint64']);
/** Pattern in tool schemas that allows an integer of these formats as a text of digits. */
export const LONG_DIGITS = String.raw`^-?\d+$`;

/** Tool is an operation that assistants can call. */
export interface Tool {
  /** Unique name, such as `list_customers`. Matches `^[a-z][a-z0-9_]{0,39}$`. */
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string;
  /** Operation of the running configuration that the tool calls. */
  readonly operation: Operation;
  /** Schema of the arguments, which is an object without additional properties. */
  readonly inputSchema: JsonSchema;
  /** Schema of `structuredContent`. Undefined if the result is only text. */
  readonly outputSchema: JsonSchema | undefined;
  readonly annotations: ToolAnnotations;
  /** Entry in `tools/list`, serialized once. */
  readonly json: string;
  /** Estimated number of tokens of `json`, which is a quarter of its characters. */
  readonly tokens: number;
  /** Arguments that limit the response or select a page, such as `limit` and `cursor`, in the order of the schema. */
  readonly pagingArguments: readonly string[];
  /**
   * Validates and corrects the arguments, and creates the request. Never throws. The backend may still reject valid
   * arguments.
   */
  readonly bind: (args: Readonly<Record<string, unknown>>) => BoundRequest | ArgumentFaults;
  /**
   * Returns the part of a response body that matches `outputSchema`, so that clients accept the result. Returns
   * undefined without `outputSchema`.
   * @param body parsed JSON, not modified
   */
  readonly structure: (body: unknown) => Readonly<Record<string, unknown>> | undefined;
}

/** Request of a tool call to the operation of the tool. */
export interface BoundRequest {
  /** Path and query without the base path, such as `/customers?limit=20`. */
  readonly url: string;
  /**
   * Header lines of the parameters, plus `accept` and, if there is a body, `content-type`. Names are in lower case, and
   * each line ends with CRLF. The lines contain no `content-length`, `host` or `authorization`.
   */
  readonly lines: string;
  /** Body in UTF-8. Undefined if the request has no body. */
  readonly body: Buffer | undefined;
}

/** Faults of invalid arguments. The list has one to ten faults. */
export interface ArgumentFaults {
  readonly faults: readonly ArgumentFault[];
}

/** A fault of one argument, or of a value within an argument. */
export interface ArgumentFault {
  /**
   * Location of the value, such as `email`, `emergency_contact.phone` or `activities[2]`. Empty for the arguments as a
   * whole.
   */
  readonly field: string;
  /** Phrase that follows the field, such as `must be a whole number`. */
  readonly detail: string;
}

/** All tools of a configuration. */
export interface ToolSet {
  /** All tools, in the order of their operations. */
  readonly tools: readonly Tool[];
  readonly byName: ReadonlyMap<string, Tool>;
}

/** Reports whether `bind` has returned faults instead of a request. */
export function areFaults(bound: BoundRequest | ArgumentFaults): bound is ArgumentFaults {
  return 'faults' in bound;
}
