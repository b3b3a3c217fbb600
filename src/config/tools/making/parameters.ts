/**
 * Reads the path, query and header parameters of an operation, which can become tool arguments (OpenAPI, Parameter
 * Object). Required parameters that a tool cannot send are faults.
 */
import type { QueryStyle } from '../../model/described-tool.js';
import type { OperationDraft } from '../../openapi/openapi-operations.js';
import { isObject, type JsonObject } from '../../openapi/openapi-traversal.js';
import { templateParameters } from '../../openapi/path-template.js';
import { isJsonType, mediaTypesOf } from './media-types.js';
import type { SchemaConverter } from './convert-schema.js';
import { normalizeText } from './schema-keywords.js';

/** A parameter with its converted schema and its serialization. */
export interface Parameter {
  readonly in: 'path' | 'query' | 'header';
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: JsonObject;
  readonly definitions: ReadonlyMap<string, JsonObject>;
  readonly style: QueryStyle;
  readonly explode: boolean;
  readonly isJson: boolean;
}

/** Result of `readParameters`. Faults are phrases that follow "the parameter". */
export interface ParametersReading {
  readonly parameters: readonly Parameter[];
  readonly faults: readonly string[];
  /** Names of optional parameters that tools cannot send. */
  readonly leftOut: readonly string[];
}

const LONGEST_DESCRIPTION = 1_000;
const QUERY_STYLES: readonly QueryStyle[] = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'];
/** Header parameters that OpenAPI ignores, because media types and security schemes define these headers. */
const IGNORED_HEADERS = new Set(['accept', 'content-type', 'authorization']);
/**
 * Headers that a tool cannot set, because the connection, the message framing or the gateway determines them (RFC 9110
 * sections 7.2 and 7.6.1).
 */
const FORBIDDEN_HEADERS = new Set(
  (
    'connection content-length cookie expect forwarded host keep-alive proxy-authenticate proxy-authorization ' +
    'proxy-connection te trailer transfer-encoding upgrade via x-forwarded-for x-forwarded-host x-forwarded-proto'
  ).split(' '),
);
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/;

/** Reads the parameters, path parameters first. A path parameter that the document does not describe is a string. */
export function readParameters(draft: OperationDraft, converter: SchemaConverter): ParametersReading {
  const listed = draft.openapi?.['parameters'];
  const parameters: Parameter[] = [];
  const faults: string[] = [];
  const leftOut: string[] = [];
  for (const value of Array.isArray(listed) ? listed : []) {
    if (!isObject(value) || typeof value['name'] !== 'string') continue;
    const parameter = readParameter(value, value['name'], converter);
    if (typeof parameter === 'string') faults.push(`\`${value['name']}\` ${parameter}`);
    else if (parameter !== undefined) parameters.push(parameter);
    else if (!isIgnored(value)) leftOut.push(value['name']);
  }
  const inTemplate = templateParameters(draft.template);
  const pathParameters = inTemplate.map(
    (name) => parameters.find((each) => each.in === 'path' && each.name === name) ?? undocumentedParameter(name),
  );
  return { parameters: [...pathParameters, ...parameters.filter((each) => each.in !== 'path')], faults, leftOut };
}

/** Reports whether OpenAPI ignores a parameter. */
function isIgnored({ in: where, name }: JsonObject): boolean {
  return where === 'header' && IGNORED_HEADERS.has(String(name).toLowerCase());
}

function undocumentedParameter(name: string): Parameter {
  const schema = { type: 'string' };
  const rest = { style: 'form', explode: false, isJson: false, definitions: new Map<string, JsonObject>() } as const;
  return { in: 'path', name, isRequired: true, schema, ...rest };
}

/**
 * Reads one parameter.
 * @returns undefined if a tool cannot send the parameter and does not need it; a text is a fault
 */
function readParameter(value: JsonObject, name: string, converter: SchemaConverter): Parameter | string | undefined {
  const where = value['in'];
  const isRequired = value['required'] === true || where === 'path';
  if (where === 'header') {
    const lower = name.toLowerCase();
    if (IGNORED_HEADERS.has(lower)) return undefined;
    if (FORBIDDEN_HEADERS.has(lower) || !HEADER_NAME.test(name)) {
      return isRequired ? 'is a header that no caller may set' : undefined;
    }
  } else if (where !== 'path' && where !== 'query') {
    return isRequired ? `is a ${String(where)} parameter, which AI assistants cannot send` : undefined;
  }
  const media = mediaTypesOf(value['content'], converter);
  const [json] = media.filter(({ type }) => isJsonType(type));
  const style = styleOf(value, where);
  if (style === undefined)
    return isRequired ? `has the style ${String(value['style'])}, which is not known` : undefined;
  if (media.length > 0 && json === undefined) return isRequired ? 'is of a media type other than JSON' : undefined;
  const { schema, definitions } = converter.convert(json === undefined ? value['schema'] : json.schema, 'input');
  return {
    in: where,
    name,
    isRequired,
    schema: { ...schema, ...descriptionOf(value, schema) },
    definitions,
    style,
    explode: typeof value['explode'] === 'boolean' ? value['explode'] : where === 'query' && style === 'form',
    isJson: json !== undefined,
  };
}

function styleOf(value: JsonObject, where: 'path' | 'query' | 'header'): QueryStyle | undefined {
  const style = value['style'];
  if (where !== 'query') return style === undefined || style === 'simple' ? 'form' : undefined;
  return style === undefined ? 'form' : QUERY_STYLES.find((known) => known === style);
}

/**
 * Returns the description, example and deprecation of a parameter. The parameter's description takes precedence over
 * that of its schema. The parameter's example is used only if the schema has no examples.
 */
function descriptionOf(value: JsonObject, schema: JsonObject): JsonObject {
  const description = normalizeText(value['description'], LONGEST_DESCRIPTION);
  const example = value['example'];
  return {
    ...(description === undefined ? {} : { description }),
    ...(example === undefined || schema['examples'] !== undefined ? {} : { examples: [example] }),
    ...(value['deprecated'] === true ? { deprecated: true } : {}),
  };
}
