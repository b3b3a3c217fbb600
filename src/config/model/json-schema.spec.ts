/** The committed JSON Schema and `docs/configuration.md` agree with the schema. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { ENVIRONMENT_VARIABLES } from './environment.js';
import type { JsonSchemaNode } from './json-schema.js';
import { gatewayJsonSchema, gatewayJsonSchemaText, knownKeysAt } from './json-schema.js';

const DOCS = readFileSync('docs/configuration.md', 'utf8');

/** Cells of the table rows that begin with a name in backquotes, by that name. */
function tableRows(heading: string): Map<string, string[]> {
  const section = DOCS.split(/^## /m).find((text) => text.startsWith(heading)) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  return new Map(
    rows.map((row) => {
      const [name = '', ...cells] = row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
      return [name.replaceAll('`', ''), cells];
    }),
  );
}

function literalOf(value: unknown): string | undefined {
  return value === undefined ? undefined : `\`${JSON.stringify(value)}\``;
}

/** Every setting that holds a value, by path. */
function settings(node: JsonSchemaNode, path: string): [string, JsonSchemaNode][] {
  if (node.properties !== undefined) {
    return Object.entries(node.properties).flatMap(([key, child]) =>
      settings(child, path === '' ? key : `${path}.${key}`),
    );
  }
  if (typeof node.additionalProperties === 'object') return settings(node.additionalProperties, `${path}.<name>`);
  if (node.items?.properties !== undefined) return settings(node.items, `${path}[]`);
  return [[path, node]];
}

describe('gateway.schema.json', () => {
  it('is generated from the schema (update: npm run -s trailgate -- schema > gateway.schema.json)', () => {
    expect(readFileSync('gateway.schema.json', 'utf8')).toBe(gatewayJsonSchemaText());
  });

  it('accepts ${NAME} for gateway.port', () => {
    const port = gatewayJsonSchema().properties?.['gateway']?.properties?.['port'];
    expect(port?.anyOf).toContainEqual({ $ref: '#/$defs/environmentReference' });
  });
});

describe('docs/configuration.md', () => {
  const documented = tableRows('`gateway.yaml`');
  const actual = new Map(settings(gatewayJsonSchema(), ''));

  it('lists every setting of the schema, and no other', () => {
    expect([...documented.keys()].toSorted()).toEqual([...actual.keys()].toSorted());
  });

  it('gives the description and the default from the schema', () => {
    for (const [path, node] of actual) {
      const [, fallback, meaning] = documented.get(path) ?? [];
      expect([path, meaning]).toEqual([path, node.description]);
      // Settings without a default describe in words what happens if they are not set.
      const isLiteral = /^`.*`$/.test(fallback ?? '');
      expect([path, isLiteral ? fallback : undefined]).toEqual([path, literalOf(node.default)]);
    }
  });

  it('lists every environment variable with its meaning, and no other', () => {
    const variables = Array.from(tableRows('Environment'), ([name, [, meaning]]) => [name, meaning]);
    expect(Object.fromEntries(variables)).toEqual(ENVIRONMENT_VARIABLES);
  });
});

describe('knownKeysAt', () => {
  it('returns the keys of a map at a path through names and list indexes', () => {
    expect(knownKeysAt(['services', 'customers', 'timeouts'])).toEqual(['connect', 'firstByte', 'idle']);
    expect(knownKeysAt(['operations', 3])).toContain('match');
    expect(knownKeysAt(['services', 'customers', 'targets', 0])).toEqual([]);
  });
});
