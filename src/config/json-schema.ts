/** The JSON Schema of `gateway.yaml`, for editors; committed as `gateway.schema.json`. */
import { z } from 'zod';
import { configSchema } from './schema.js';

const SCHEMA_ID = 'urn:trailgate:gateway.schema.json';

/** The part of JSON Schema that we read back. */
export interface JsonSchemaNode {
  readonly description?: string;
  readonly type?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchemaNode>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchemaNode | boolean;
  readonly items?: JsonSchemaNode;
  readonly anyOf?: readonly JsonSchemaNode[];
  readonly enum?: readonly unknown[];
}

/** JSON Schema (draft 2020-12) of what a person writes: before defaults, with durations and sizes as text. */
export function gatewayJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(configSchema, { io: 'input', target: 'draft-2020-12' });
  return { $id: SCHEMA_ID, title: 'gateway.yaml', ...schema };
}

/** The text of `gateway.schema.json`; `trailgate schema` prints it. */
export function gatewayJsonSchemaText(): string {
  return `${JSON.stringify(gatewayJsonSchema(), null, 2)}\n`;
}

/** The keys that may stand in the map at a path; none where the path leads to no map. */
export function knownKeysAt(path: readonly PropertyKey[]): string[] {
  let node: JsonSchemaNode | undefined = gatewayJsonSchema() as JsonSchemaNode;
  for (const part of path) {
    if (node === undefined) return [];
    if (typeof part === 'number') {
      node = node.items;
    } else {
      const additional: JsonSchemaNode | boolean | undefined = node.additionalProperties;
      node = node.properties?.[String(part)] ?? (typeof additional === 'object' ? additional : undefined);
    }
  }
  return Object.keys(node?.properties ?? {});
}
