/** The JSON Schema of `gateway.yaml`, for editors; committed as `gateway.schema.json`. */
import { z } from 'zod';
import { configSchema } from './schema.js';

const SCHEMA_ID = 'urn:trailgate:gateway.schema.json';

/** The part of JSON Schema that we read and write. */
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

/** JSON Schema (draft 2020-12) of what a person writes: before defaults, with durations, sizes and `${NAME}` as text. */
export function gatewayJsonSchema(): JsonSchemaNode {
  const schema = z.toJSONSchema(configSchema, { io: 'input', target: 'draft-2020-12' }) as JsonSchemaNode;
  return {
    $id: SCHEMA_ID,
    title: 'gateway.yaml',
    ...withReferences(schema),
    $defs: { environmentReference: { type: 'string', pattern: '\\$\\{[A-Za-z_]' } },
  };
}

/** The text of `gateway.schema.json`; `trailgate schema` prints it. */
export function gatewayJsonSchemaText(): string {
  return `${JSON.stringify(gatewayJsonSchema(), null, 2)}\n`;
}

/** The keys that may stand in the map at a path; none where the path leads to no map. */
export function knownKeysAt(path: readonly PropertyKey[]): string[] {
  let node: JsonSchemaNode | undefined = gatewayJsonSchema();
  for (const part of path) {
    if (node === undefined) return [];
    const additional: JsonSchemaNode | boolean | undefined = node.additionalProperties;
    if (typeof part === 'number') node = node.items;
    else node = node.properties?.[String(part)] ?? (typeof additional === 'object' ? additional : undefined);
  }
  return Object.keys(node?.properties ?? {});
}

/** Lets every value that is not free text also be a `${NAME}`, so that an editor does not mark it as wrong. */
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
