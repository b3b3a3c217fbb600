/** Builds the JSON Schema of `gateway.yaml`, which editors use. Also looks up settings for error messages. */
import { z } from 'zod';
import { configSchema } from './schema.js';

const SCHEMA_ID = 'urn:trailgate:gateway.schema.json';

/** The subset of JSON Schema that zod generates for `gateway.yaml`. */
export interface JsonSchemaNode {
  readonly $id?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string;
  readonly default?: unknown;
  readonly pattern?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchemaNode>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchemaNode | boolean;
  readonly items?: JsonSchemaNode;
  readonly anyOf?: readonly JsonSchemaNode[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchemaNode>>;
}

/**
 * Returns the JSON Schema (draft 2020-12) of the file as the operator writes it. Defaults are not applied, and
 * durations, sizes and `${NAME}` are texts.
 */
export function gatewayJsonSchema(): JsonSchemaNode {
  const schema = z.toJSONSchema(configSchema, { io: 'input', target: 'draft-2020-12' }) as JsonSchemaNode;
  return {
    $id: SCHEMA_ID,
    title: 'gateway.yaml',
    ...withReferences(schema),
    $defs: { environmentReference: { type: 'string', pattern: '\\$\\{[A-Za-z_]' } },
  };
}

/** Returns the text of `gateway.schema.json`, which `trailgate schema` prints. */
export function gatewayJsonSchemaText(): string {
  return `${JSON.stringify(gatewayJsonSchema(), null, 2)}\n`;
}

/** Cache of the schema, which is built at first use. */
let cachedSchema: JsonSchemaNode | undefined;

/** Returns the allowed keys of the map at a path. Returns no keys if the path does not lead to a map. */
export function knownKeysAt(path: readonly PropertyKey[]): string[] {
  return Object.keys(mapOf(nodesTo(path)?.at(-1))?.properties ?? {});
}

/**
 * Returns the description of the setting at a path, with its default. If the setting has no description, returns that
 * of the nearest ancestor. Undefined if the path is invalid.
 */
export function descriptionAt(path: readonly PropertyKey[]): string | undefined {
  const nodes = nodesTo(path) ?? [];
  const described = nodes.findLast((node) => node.description !== undefined);
  const fallback = described === nodes.at(-1) ? described?.default : undefined;
  const isScalar = typeof fallback === 'string' || typeof fallback === 'number' || typeof fallback === 'boolean';
  return isScalar ? `${described?.description} Default: ${String(fallback)}.` : described?.description;
}

/** Returns the nodes from the root to a path, or undefined if the path is invalid. */
function nodesTo(path: readonly PropertyKey[]): JsonSchemaNode[] | undefined {
  let node: JsonSchemaNode = (cachedSchema ??= gatewayJsonSchema());
  const nodes = [node];
  for (const part of path) {
    const map: JsonSchemaNode = mapOf(node) ?? node;
    const next: JsonSchemaNode | boolean | undefined =
      typeof part === 'number' ? node.items : (ownOf(map.properties ?? {}, String(part)) ?? map.additionalProperties);
    if (typeof next !== 'object') return undefined;
    nodes.push((node = next));
  }
  return nodes;
}

/** Returns the alternative of a union that is a map. Returns the node itself if it has no such alternative. */
function mapOf(node: JsonSchemaNode | undefined): JsonSchemaNode | undefined {
  return node?.anyOf?.find(({ properties }) => properties !== undefined) ?? node;
}

function ownOf<Value>(object: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/**
 * Adds `${NAME}` as an alternative of every value that is not free text, so that editors accept environment variables.
 */
function withReferences(node: JsonSchemaNode): JsonSchemaNode {
  if (node.properties !== undefined) {
    const properties = Object.entries(node.properties).map(([name, child]) => [name, withReferences(child)]);
    return { ...node, properties: Object.fromEntries(properties) };
  }
  if (typeof node.additionalProperties === 'object') {
    return { ...node, additionalProperties: withReferences(node.additionalProperties) };
  }
  if (node.items !== undefined) return { ...node, items: withReferences(node.items) };
  const isFreeText =
    node.type === 'string' && node.pattern === undefined && node.format === undefined && node.enum === undefined;
  if (isFreeText) return node;
  const { description, default: fallback, ...value } = node;
  return {
    ...(description === undefined ? {} : { description }),
    ...('default' in node ? { default: fallback } : {}),
    anyOf: [...(value.anyOf ?? [value]), { $ref: '#/$defs/environmentReference' }],
  };
}
