/** Serializable form of a tool, created when the configuration is loaded. */

/** Hints about a tool's effects, so that clients ask people before some calls (MCP, ToolAnnotations). */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** A tool as plain data. Its schemas exist only within `json` and are parsed at the first call. */
export interface DescribedTool {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  /** ID of its operation. */
  readonly operation: string;
  readonly annotations: ToolAnnotations;
  /** Entry in `tools/list`. */
  readonly json: string;
  /** Estimated tokens of `json`. */
  readonly tokens: number;
  readonly pagingArguments: readonly string[];
  readonly binding: ToolBinding;
  /** Whether the JSON has an output schema. */
  readonly hasOutput: boolean;
  /** Whether the response is not an object and is wrapped in one under `result`. */
  readonly wrapsResult: boolean;
}

/** Maps the arguments of a call to a request. */
export interface ToolBinding {
  /** Path template of the operation. */
  readonly template: string;
  readonly path: readonly PathBinding[];
  readonly query: readonly QueryBinding[];
  readonly headers: readonly HeaderBinding[];
  /** Value of `Accept`. */
  readonly accept: string;
  readonly body?: BodyBinding;
}

/** Source and serialization of a parameter (OpenAPI, Style Values). */
export interface ParameterBinding {
  /** Name of the parameter. */
  readonly name: string;
  /** Name of the argument; undefined if the value is fixed. */
  readonly argument?: string;
  readonly fixed?: unknown;
  readonly explode: boolean;
  /** Whether it is serialized as JSON (OpenAPI, Parameter Object, `content`). */
  readonly isJson: boolean;
}

/** A path parameter, in style `simple`. */
export interface PathBinding extends ParameterBinding {
  /** Values that would lead to other operations, in lower case. */
  readonly reserved: readonly string[];
  /** Whether a value may contain slashes, which are encoded. */
  readonly takesSlashes: boolean;
}

export type QueryStyle = 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject';

export interface QueryBinding extends ParameterBinding {
  readonly style: QueryStyle;
}

/** A header parameter, in style `simple`. */
export type HeaderBinding = ParameterBinding;

/** Serialization of a body. */
export type BodyKind = 'json' | 'form' | 'text';

export interface BodyBinding {
  readonly kind: BodyKind;
  /** Media type, such as `application/json`. */
  readonly mediaType: string;
  /** Whether a body is sent even without arguments. */
  readonly isRequired: boolean;
  /** Argument with the whole body; without one, the body is an object of `fields`. */
  readonly argument?: string;
  /** Fixed value of the whole body. */
  readonly fixed?: { readonly value: unknown };
  readonly fields: readonly BodyField[];
}

/** A field of a body, from an argument or fixed. */
export interface BodyField {
  readonly name: string;
  readonly argument?: string;
  readonly fixed?: unknown;
  /** Serialization of lists and objects in a form (OpenAPI, Encoding Object). */
  readonly style?: QueryStyle;
  readonly explode?: boolean;
}
