/**
 * Converts the parameters and the body of an operation to tool arguments. Assigns names, hides arguments, and creates
 * the input schema and the binding. Invalid `hide` and `fixed` settings become faults.
 */
import type { BodyBinding, BodyField, ParameterBinding, ToolBinding } from '../../model/described-tool.js';
import type { ToolSettings } from '../../model/mcp-schema.js';
import { didYouMean } from '../../model/problem.js';
import type { JsonObject } from '../../openapi/openapi-traversal.js';
import { checkArguments } from '../calling/argument-check.js';
import type { Parameter } from './parameters.js';
import type { RequestBody, RequestField } from './request-body.js';

/** Fault in the settings `hide` and `fixed`. Without `field`, the fault concerns the whole tool. */
export interface SettingFault {
  readonly field?: 'hide' | 'fixed';
  /** Index in `hide`, or name in `fixed`. */
  readonly at?: string | number;
  readonly message: string;
  readonly hint: string;
}

/** Result of `makeArguments`. */
export interface ToolArguments {
  readonly inputSchema: JsonObject;
  readonly binding: ToolBinding;
  readonly faults: readonly SettingFault[];
}

/** The parts of an operation's request that arguments can determine. */
export interface Request {
  readonly template: string;
  readonly parameters: readonly Parameter[];
  readonly body: RequestBody | undefined;
  readonly accept: string;
  /** Values of each path parameter, in order, that would lead to another operation. */
  readonly reserved: readonly (readonly string[])[];
  /** Whether path parameters can contain slashes. */
  readonly takesSlashes: boolean;
}

/** Maximum length of an argument name that all clients accept. */
const MAX_NAME_LENGTH = 64;

/** A parameter, a body field or a whole body. Its value comes from an argument or from the settings. */
interface Input {
  readonly argument: string;
  /** Name of the parameter or field in the document. */
  readonly name: string;
  readonly schema: JsonObject;
  readonly isRequired: boolean;
}

/** Creates the arguments, their input schema, and their binding to the request. */
export function makeArguments(request: Request, settings: Pick<ToolSettings, 'hide' | 'fixed'>): ToolArguments {
  const naming = new Naming();
  const parameters = request.parameters.map((parameter) => ({
    ...parameter,
    argument: naming.name(parameter.name, parameter.in),
  }));
  const { body } = request;
  const fields = body?.fields?.map((field) => ({ ...field, argument: argumentName(field.name) }));
  const isFlat = fields !== undefined && naming.reserveAll(fields.map(({ argument }) => argument));
  const bodyInputs = isFlat ? fields : [];
  const whole: Input[] =
    body === undefined || isFlat
      ? []
      : [
          {
            argument: naming.name('body', 'request'),
            name: 'body',
            schema: body.whole.schema,
            isRequired: body.isRequired,
          },
        ];
  const inputs: readonly Input[] = [...parameters, ...bodyInputs, ...whole];
  const definitions = new Map(
    [...parameters, ...(body === undefined ? [] : [body.whole])].flatMap((each) => [...each.definitions]),
  );
  const hiddenInputs = new HiddenInputs(inputs, definitions, settings);
  return {
    inputSchema: inputSchema(
      inputs.filter((input) => !hiddenInputs.isHidden(input)),
      definitions,
    ),
    binding: {
      template: request.template,
      path: parameters
        .filter((each) => each.in === 'path')
        .map((each, index) => ({
          ...hiddenInputs.bound(each),
          reserved: request.reserved[index] ?? [],
          takesSlashes: request.takesSlashes,
        })),
      query: parameters
        .filter((each) => each.in === 'query')
        .map((each) => ({ ...hiddenInputs.bound(each), style: each.style })),
      headers: parameters.filter((each) => each.in === 'header').map((each) => hiddenInputs.bound(each)),
      accept: request.accept,
      ...(body === undefined ? {} : { body: bodyBinding(body, bodyInputs, whole[0], hiddenInputs) }),
    },
    faults: hiddenInputs.faults,
  };
}

function bodyBinding(
  { kind, mediaType, isRequired }: RequestBody,
  fields: readonly (RequestField & Input)[],
  whole: Input | undefined,
  hiddenInputs: HiddenInputs,
): BodyBinding {
  const all = whole === undefined ? {} : hiddenInputs.source(whole);
  return {
    kind,
    mediaType,
    isRequired,
    ...(all.argument === undefined ? {} : { argument: all.argument }),
    ...('fixed' in all ? { fixed: { value: all.fixed } } : {}),
    fields: fields.flatMap((field): BodyField[] => {
      if (hiddenInputs.isOmitted(field)) return [];
      const form = kind === 'form' ? { style: field.style, explode: field.explode } : {};
      return [{ name: field.name, ...hiddenInputs.source(field), ...form }];
    }),
  };
}

function inputSchema(inputs: readonly Input[], definitions: ReadonlyMap<string, JsonObject>): JsonObject {
  const required = inputs.filter(({ isRequired }) => isRequired).map(({ argument }) => argument);
  return {
    type: 'object',
    ...(inputs.length === 0
      ? {}
      : { properties: Object.fromEntries(inputs.map(({ argument, schema }) => [argument, schema])) }),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
    ...(definitions.size === 0 ? {} : { $defs: Object.fromEntries(definitions) }),
  };
}

/**
 * Converts a name to a name that clients accept, such as `filter[status]` to `filter_status`. Never returns
 * `__proto__`.
 */
function argumentName(name: string): string {
  const isPlain = /^[A-Za-z0-9_.-]+$/.test(name);
  const plain = name.replaceAll(/[^A-Za-z0-9_.-]+/g, '_').replaceAll(/^_+|_+$/g, isPlain ? '_' : '');
  return plain.slice(0, MAX_NAME_LENGTH) || 'value';
}

/** Naming assigns a unique name to each argument of a tool. */
class Naming {
  private readonly taken = new Set<string>();

  /**
   * Returns a free argument name, and reserves it.
   * @param prefix is added in front of a name that is taken, as in `query_id`
   */
  name(name: string, prefix: string): string {
    const plain = argumentName(name);
    let free = this.taken.has(plain) ? `${prefix}_${plain}`.slice(0, MAX_NAME_LENGTH) : plain;
    for (let number = 2; this.taken.has(free); number++) {
      free = `${plain.slice(0, MAX_NAME_LENGTH - 5)}_${number}`;
    }
    this.taken.add(free);
    return free;
  }

  /** Reserves all names and returns true. If a name is taken or occurs twice, reserves none and returns false. */
  reserveAll(names: readonly string[]): boolean {
    if (new Set(names).size < names.length || names.some((name) => this.taken.has(name))) return false;
    for (const name of names) this.taken.add(name);
    return true;
  }
}

/** HiddenInputs decides which inputs assistants do not see, and holds their fixed values. */
class HiddenInputs {
  readonly faults: SettingFault[] = [];
  private readonly hidden = new Set<Input>();
  private readonly values = new Map<Input, unknown>();

  constructor(
    inputs: readonly Input[],
    definitions: ReadonlyMap<string, JsonObject>,
    { hide = [], fixed = {} }: Pick<ToolSettings, 'hide' | 'fixed'>,
  ) {
    const find = (name: string, field: 'hide' | 'fixed', at: string | number): Input | undefined => {
      const found = inputs.find((each) => each.name === name) ?? inputs.find((each) => each.argument === name);
      if (found !== undefined) return found;
      const names = inputs.map((each) => each.name);
      const known = names.length === 0 ? 'the operation has none' : `there are ${names.slice(0, 20).join(', ')}`;
      const message = `the operation has no parameter \`${name.slice(0, 60)}\``;
      this.faults.push({ field, at, message, hint: didYouMean(name, names) ?? known });
      return undefined;
    };
    for (const [name, value] of Object.entries(fixed)) {
      const input = find(name, 'fixed', name);
      if (input !== undefined) this.values.set(input, this.checked(name, value, input, definitions));
    }
    for (const [index, name] of hide.entries()) {
      const input = find(name, 'hide', index);
      if (input === undefined) continue;
      this.hidden.add(input);
      if (!input.isRequired || this.values.has(input)) continue;
      const message = `\`${name}\` is required, so hidden it needs a value`;
      this.faults.push({ field: 'hide', at: index, message, hint: `give it one under \`fixed\`, or do not hide it` });
    }
  }

  /**
   * Checks a fixed value against the schema, and returns the value to send. A long integer that is written as text
   * becomes a number. Records a fault if the value is invalid.
   */
  private checked(
    at: string,
    value: unknown,
    { name, schema }: Input,
    definitions: ReadonlyMap<string, JsonObject>,
  ): unknown {
    const given = { [name]: value };
    const alone = { properties: { [name]: schema }, required: [name], $defs: Object.fromEntries(definitions) };
    const [fault] = checkArguments(given, alone);
    if (fault !== undefined) {
      const message = `\`${fault.field}\` ${fault.detail}`;
      this.faults.push({ field: 'fixed', at, message, hint: 'write a value that the operation takes' });
    }
    return given[name];
  }

  isHidden(input: Input): boolean {
    return this.hidden.has(input) || this.values.has(input);
  }

  /** Reports whether an input is hidden without a fixed value, so that the request does not contain it. */
  isOmitted(input: Input): boolean {
    return this.hidden.has(input) && !this.values.has(input);
  }

  /**
   * Returns the source of an input's value, which is an argument or a fixed value. Returns an empty object if the input
   * is omitted.
   */
  source(input: Input): { readonly argument?: string; readonly fixed?: unknown } {
    if (this.values.has(input)) return { fixed: this.values.get(input) };
    return this.hidden.has(input) ? {} : { argument: input.argument };
  }

  bound(parameter: Parameter & Input): ParameterBinding {
    const { name, explode, isJson } = parameter;
    return { name, explode, isJson, ...this.source(parameter) };
  }
}
