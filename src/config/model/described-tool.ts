/** Defines the serializable form of an MCP tool, which is created when the configuration is loaded. */

/** Hints about the effects of a tool, so that clients can ask for confirmation before a call (MCP, ToolAnnotations). */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** A tool as plain data. Only `json` contains the schemas, and it is parsed when the schemas are first needed. */
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
  /** Arguments that limit the response or select a page, such as `limit` and `cursor`. */
  readonly pagingArguments: readonly string[];
  readonly binding: ToolBinding;
  /** Whether `json` has an output schema. */
  readonly hasOutput: boolean;
  /**
   * Whether the response can be a list or a scalar. The tool result then contains the response as `result` of an
   * object.
   */
  readonly wrapsResult: boolean;
}

/** ToolBinding describes how the arguments of a call become a request. */
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

/** Source and serialization of one parameter (OpenAPI, Style Values). */
export interface ParameterBinding {
  /** Name of the parameter. */
  readonly name: string;
  /** Name of the argument that contains the value. Undefined if the value is fixed or the parameter is not sent. */
  readonly argument?: string;
  /** Value from the settings, which replaces an argument. Undefined if the settings fix no value. */
  readonly fixed?: unknown;
  readonly explode: boolean;
  /** Whether the value is serialized as JSON (OpenAPI, Parameter Object, `content`). */
  readonly isJson: boolean;
}

/** A path parameter, which is serialized in style `simple`. */
export interface PathBinding extends ParameterBinding {
  /** Values that would lead to another operation, in lower case. No value of the parameter may equal one of them. */
  readonly reserved: readonly string[];
  /** Whether a value may contain slashes. The request contains these slashes percent-encoded. */
  readonly takesSlashes: boolean;
}

export type QueryStyle = 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject';

export interface QueryBinding extends ParameterBinding {
  readonly style: QueryStyle;
}

/** A header parameter, which is serialized in style `simple`. */
export type HeaderBinding = ParameterBinding;

/** Serialization format of a body. */
export type BodyKind = 'json' | 'form' | 'text';

export interface BodyBinding {
  readonly kind: BodyKind;
  /** Media type, such as `application/json`. */
  readonly mediaType: string;
  /** Whether a body is sent even if no argument gives a value. */
  readonly isRequired: boolean;
  /** Argument with the whole body. Undefined if the body is fixed, consists of `fields`, or is not sent. */
  readonly argument?: string;
  /** Fixed value of the whole body, from the settings. Undefined if the settings fix no value. */
  readonly fixed?: { readonly value: unknown };
  readonly fields: readonly BodyField[];
}

/** A field of a body, whose value comes from an argument or is fixed. */
export interface BodyField {
  readonly name: string;
  readonly argument?: string;
  readonly fixed?: unknown;
  /** Serialization of lists and objects in a form (OpenAPI, Encoding Object). */
  readonly style?: QueryStyle;
  readonly explode?: boolean;
}
