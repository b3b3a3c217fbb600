/** What an AI assistant may call: an operation as a tool of the Model Context Protocol (2026-07-28, Tools). */
import type { ToolAnnotations } from '../model/described-tool.js';
import type { Operation } from '../model/schema.js';

/** A JSON Schema (2020-12) that names nothing outside of itself. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** More tools than these are searched, unless said: each that is listed costs tokens in every conversation. */
export const MOST_LISTED = 25;
/** Where a result stands that is a list or a single value: clients of 2025 take objects only as structured content. */
export const WRAPPED_UNDER = 'result';

/** Formats of whole numbers that may be longer than JavaScript keeps (OpenAPI Format Registry). */
export const LONG_FORMATS: ReadonlySet<unknown> = new Set(['int64', 'uint64']);
/** Pattern by which the schema of a tool allows the digits of such a number as a text. */
export const LONG_DIGITS = String.raw`^-?\d+$`;

/** An operation that assistants may call. */
export interface Tool {
  /** `list_customers`: `^[a-z][a-z0-9_]{0,39}$`, unique. */
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string;
  /** Of the running configuration: its scopes, its cost, its index. */
  readonly operation: Operation;
  /** Of the arguments; an object that allows no others. */
  readonly inputSchema: JsonSchema;
  /** Of `structuredContent`; undefined: the response is text alone. */
  readonly outputSchema: JsonSchema | undefined;
  readonly annotations: ToolAnnotations;
  /** The tool as `tools/list` says it, serialised once. */
  readonly json: string;
  /** About how many tokens `json` costs an assistant: a quarter of its characters. */
  readonly tokens: number;
  /** Arguments by which a response is made smaller, or its next page asked for: `limit`, `cursor`. In their order. */
  readonly pagingArguments: readonly string[];
  /**
   * Checks arguments and makes the request of them. Never throws, whatever the arguments are. What is not said to be
   * wrong may still be refused by the backend.
   */
  readonly bind: (args: Readonly<Record<string, unknown>>) => BoundRequest | ArgumentFaults;
  /**
   * What of a response's body is sent as `structuredContent`: all that is as `outputSchema` says, without the rest, so
   * that no client refuses the response. Undefined where there is no `outputSchema`: then there is text alone.
   * @param body parsed JSON; changed by nobody.
   */
  readonly structure: (body: unknown) => Readonly<Record<string, unknown>> | undefined;
}

/** The request that a call stands for. */
export interface BoundRequest {
  /** Path and query, without the base path: `/customers?limit=20`. */
  readonly url: string;
  /**
   * Field lines of the parameters, with `accept` and, with a body, `content-type`; names in small letters, CRLF behind
   * each. Without `content-length`, `host` and `authorization`.
   */
  readonly lines: string;
  /** UTF-8. */
  readonly body: Buffer | undefined;
}

/** Why arguments cannot be taken: at least one fault, at most ten. */
export interface ArgumentFaults {
  readonly faults: readonly ArgumentFault[];
}

/** One thing that is wrong with arguments. */
export interface ArgumentFault {
  /** Where: `email`, `emergency_contact.phone`, `activities[2]`; empty: the arguments as a whole. */
  readonly field: string;
  /** Goes behind the field: `must be a whole number`. */
  readonly detail: string;
}

/** All tools of a configuration. */
export interface ToolSet {
  /** In the order of the operations. */
  readonly tools: readonly Tool[];
  readonly byName: ReadonlyMap<string, Tool>;
}

/** Whether arguments were refused. */
export function areFaults(bound: BoundRequest | ArgumentFaults): bound is ArgumentFaults {
  return 'faults' in bound;
}
