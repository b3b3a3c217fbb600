/** Serializable form of an MCP tool, created when the configuration is loaded. */

/** Hints about a tool's effects, so that clients ask people before some calls (MCP, ToolAnnotations). */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** A tool as plain data. Its schemas are only in `json`, which is parsed at the first call. */
export interface DescribedTool {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  /** ID of the operation that the tool calls. */
  readonly operation: string;
  readonly annotations: ToolAnnotations;
  /** The JSON entry for `tools/list`, with input and output schema. */
  readonly json: string;
  /** Estimated number of tokens of `json`. */
  readonly tokens: number;
  /** Arguments that limit or page the response, such as `limit` and `cursor`. */
  readonly pagingArguments: readonly string[];
  readonly binding: ToolBinding;
  /** Whether `json` has an output schema. */
  readonly hasOutput: boolean;
  /** Whether the response is a list or a scalar, which is sent as `result` of an object. */
  readonly wrapsResult: boolean;
}

/** Describes how the arguments of a call become a request. */
export interface ToolBinding {
  /** Path template of the operation. */
  readonly template: string;
  readonly path: readonly PathBinding[];
  readonly query: readonly QueryBinding[];
  readonly headers: readonly HeaderBinding[];
  /** Value of the `Accept` header. */
  readonly accept: string;
  readonly body?: BodyBinding;
}

/** Source and serialization of a parameter (OpenAPI, Style Values). */
export interface ParameterBinding {
  /** Name of the parameter. */
  readonly name: string;
  /** Name of the argument with the value. Undefined if the value is fixed or the parameter is not sent. */
  readonly argument?: string;
  /** Value from the settings, which replaces an argument. */
  readonly fixed?: unknown;
  readonly explode: boolean;
  /** Whether the value is serialized as JSON (OpenAPI, Parameter Object, `content`). */
  readonly isJson: boolean;
}

/** A path parameter, in style `simple`. */
export interface PathBinding extends ParameterBinding {
  /** Segments that would match another operation, in lower case. They are not allowed as values. */
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
  /** Argument with the whole body. Undefined: the body is fixed, or an object of `fields`. */
  readonly argument?: string;
  /** Fixed value of the whole body, from the settings. */
  readonly fixed?: { readonly value: unknown };
  readonly fields: readonly BodyField[];
}

/** A field of a body. The value comes from an argument or is fixed. */
export interface BodyField {
  readonly name: string;
  readonly argument?: string;
  readonly fixed?: unknown;
  /** Serialization of lists and objects in a form (OpenAPI, Encoding Object). */
  readonly style?: QueryStyle;
  readonly explode?: boolean;
}
