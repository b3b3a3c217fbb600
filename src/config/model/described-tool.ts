/**
 * A tool as it is made where the configuration is read: plain data, so that it can be sent from one process to another.
 */

/** What clients are told of a tool's effects, so that they ask people before some calls (MCP, ToolAnnotations). */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** A tool without what runs: its schemas are within its JSON alone, and read from there when somebody calls it. */
export interface DescribedTool {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  /** Id of its operation. */
  readonly operation: string;
  readonly annotations: ToolAnnotations;
  /** As `tools/list` says it. */
  readonly json: string;
  /** An estimate. */
  readonly tokens: number;
  readonly pagingArguments: readonly string[];
  readonly binding: ToolBinding;
  /** Whether its JSON has an output schema. */
  readonly hasOutput: boolean;
  /** Whether a response is no object, and stands in one under `result`. */
  readonly wrapsResult: boolean;
}

/** Where the arguments of a call go. */
export interface ToolBinding {
  /** Path template of the operation. */
  readonly template: string;
  readonly path: readonly PathBinding[];
  readonly query: readonly QueryBinding[];
  readonly headers: readonly HeaderBinding[];
  /** The media type that is asked for. */
  readonly accept: string;
  readonly body?: BodyBinding;
}

/** A parameter: where its value comes from, and how it is written (OpenAPI, Style Values). */
export interface ParameterBinding {
  /** Of the parameter. */
  readonly name: string;
  /** The argument that it is; without one its value is fixed. */
  readonly argument?: string;
  readonly fixed?: unknown;
  readonly explode: boolean;
  /** Whether it is written as JSON (OpenAPI, Parameter Object, `content`). */
  readonly isJson: boolean;
}

/** One of the path, in style `simple`. */
export interface PathBinding extends ParameterBinding {
  /** Values that lead to other operations, in small letters. */
  readonly reserved: readonly string[];
  /** Whether a value may have slashes, which are encoded. */
  readonly takesSlashes: boolean;
}

export type QueryStyle = 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject';

export interface QueryBinding extends ParameterBinding {
  readonly style: QueryStyle;
}

/** One of the header, in style `simple`. */
export type HeaderBinding = ParameterBinding;

/** How a body is written. */
export type BodyKind = 'json' | 'form' | 'text';

export interface BodyBinding {
  readonly kind: BodyKind;
  /** As the request says it: `application/json`. */
  readonly mediaType: string;
  /** Whether there is one also where no argument is given. */
  readonly isRequired: boolean;
  /** The argument that all of it is; without one it is an object of `fields`. */
  readonly argument?: string;
  /** All of it, where that is fixed. */
  readonly fixed?: { readonly value: unknown };
  readonly fields: readonly BodyField[];
}

/** A field of a body that is an argument, or fixed. */
export interface BodyField {
  readonly name: string;
  readonly argument?: string;
  readonly fixed?: unknown;
  /** In a form: how lists and objects are written (OpenAPI, Encoding Object). */
  readonly style?: QueryStyle;
  readonly explode?: boolean;
}
