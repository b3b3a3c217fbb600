/**
 * Converts OpenAPI schemas (3.0 and 3.1) to self-contained JSON Schema 2020-12. References are inlined. Keywords that
 * cannot be checked, or that clients reject, are removed.
 */
import { resolveReference } from '../../openapi/openapi-references.js';
import { isObject, type JsonObject } from '../../openapi/openapi-traversal.js';
import { upgradeSchema } from '../../openapi/openapi-upgrade.js';
import { selectKeywords, type SchemaUse } from './schema-keywords.js';

/** Maximum number of schemas that a converted schema may contain. */
const MAX_SCHEMAS = 2_000;
/**
 * Maximum number of characters of a converted schema as JSON. The limit exists because an assistant reads all of it.
 */
const MAX_CHARACTERS = { input: 64 * 1024, output: 8 * 1024 } as const;
/**
 * Depths at which a schema that is too large is truncated. The converter tries them in order until the result is small
 * enough.
 */
const DEPTHS = [6, 4, 3, 2, 1] as const;

/** Result of `SchemaConverter.convert`. References in the schema lead only to `definitions`. */
export interface ConvertedSchema {
  readonly schema: JsonObject;
  /** Definitions of recursive schemas, by name in `$defs`. Empty for output schemas. */
  readonly definitions: ReadonlyMap<string, JsonObject>;
}

/** A reference that is being converted, with its depth and the reference that encloses it. */
interface EnclosingReference {
  readonly reference: string;
  readonly depth: number;
  readonly outer: EnclosingReference | undefined;
}

/** TOO_LARGE is thrown if a schema contains more than `MAX_SCHEMAS` schemas. */
const TOO_LARGE = Symbol('too large');

/** SchemaConverter converts the schemas of one OpenAPI document. */
export class SchemaConverter {
  private readonly isOld: boolean;
  private readonly names = new Map<string, string>();
  /** Cache of converted references, by use, remaining depth and reference. Many schemas share references. */
  readonly converted = new Map<string, { readonly schema: JsonObject | boolean; readonly schemas: number }>();

  constructor(readonly document: JsonObject) {
    this.isOld = String(document['openapi']).startsWith('3.0');
  }

  /**
   * Converts a schema. Recursive input schemas get references to `definitions`. Output schemas, and input schemas that
   * are too large, are truncated at some depth. Only type and description remain below that depth. A schema that is
   * still too large becomes an empty schema.
   */
  convert(schema: unknown, use: SchemaUse): ConvertedSchema {
    // Output schemas have no definitions, so recursion in output schemas ends only at a depth limit.
    for (const depth of use === 'input' ? [Infinity, ...DEPTHS] : DEPTHS) {
      try {
        const conversion = new Conversion(this, use, depth);
        const converted = conversion.convert(schema);
        const length = JSON.stringify([converted, ...conversion.definitions.values()]).length;
        if (length <= MAX_CHARACTERS[use]) return { schema: converted, definitions: conversion.definitions };
      } catch (error) {
        if (error !== TOO_LARGE) throw error;
      }
    }
    return { schema: {}, definitions: new Map() };
  }

  /** Resolves a reference. Returns other objects unchanged. Returns an empty object if the result is not an object. */
  resolved(value: unknown): JsonObject {
    const found = resolveReference(this.document, value);
    return isObject(found) ? found : {};
  }

  /**
   * Returns the name of a referenced schema in `$defs`. All conversions use the same name, so that their schemas can be
   * combined.
   */
  nameOf(reference: string): string {
    const known = this.names.get(reference);
    if (known !== undefined) return known;
    const base = reference.slice(reference.lastIndexOf('/') + 1).replaceAll(/[^\w-]/g, '_');
    const taken = new Set(this.names.values());
    let name = base;
    for (let number = 2; taken.has(name); number++) name = `${base}_${number}`;
    this.names.set(reference, name);
    return name;
  }

  /** Upgrades a schema of OpenAPI 3.0 to 3.1. Nested schemas stay unchanged. */
  upgraded(schema: JsonObject): JsonObject {
    return this.isOld ? upgradeSchema(schema) : schema;
  }

  /** Whether keywords next to `$ref` have an effect. OpenAPI 3.0 ignores such keywords. */
  get readsBesideReferences(): boolean {
    return !this.isOld;
  }
}

/** Conversion converts one schema with a depth limit. */
class Conversion {
  readonly definitions = new Map<string, JsonObject>();
  private schemasLeft = MAX_SCHEMAS;
  /** Number of circular references that the conversion has found so far. */
  private circularCount = 0;

  constructor(
    private readonly converter: SchemaConverter,
    private readonly use: SchemaUse,
    /** Depth from which only type and description are kept. */
    private readonly depth: number,
  ) {}

  convert(schema: unknown): JsonObject {
    const converted = this.convertAny(schema, undefined, 0);
    return isObject(converted) ? converted : {};
  }

  /**
   * Converts a schema or a reference.
   * @param enclosing innermost reference that is being converted, with its enclosing references
   */
  private convertAny(schema: unknown, enclosing: EnclosingReference | undefined, depth: number): JsonObject | boolean {
    if (typeof schema === 'boolean') return schema;
    if (!isObject(schema)) return {};
    if (--this.schemasLeft < 0) throw TOO_LARGE;
    const { $ref: reference, ...siblings } = schema;
    if (typeof reference !== 'string') return this.convertPlain(this.converter.upgraded(schema), enclosing, depth);
    return this.withSiblings(this.convertReference(reference, enclosing, depth), siblings, enclosing, depth);
  }

  private convertReference(
    reference: string,
    enclosing: EnclosingReference | undefined,
    depth: number,
  ): JsonObject | boolean {
    const outer = outerOf(reference, enclosing);
    if (outer !== undefined && (outer.depth === depth || this.depth === Infinity)) {
      this.circularCount++;
      // A reference at the same depth refers directly to itself, which adds no constraint.
      return outer.depth === depth ? {} : { $ref: `#/$defs/${this.define(reference)}` };
    }
    const key = `${this.use} ${this.depth - depth} ${reference}`;
    const known = this.converter.converted.get(key);
    if (known !== undefined) {
      this.schemasLeft -= known.schemas;
      if (this.schemasLeft < 0) throw TOO_LARGE;
      return known.schema;
    }
    const [schemasLeft, circularCount] = [this.schemasLeft, this.circularCount];
    const schema = this.convertAny(
      this.converter.resolved({ $ref: reference }),
      { reference, depth, outer: enclosing },
      depth,
    );
    // A schema with a circular reference depends on the enclosing references, so it must not be cached.
    if (this.circularCount === circularCount) {
      this.converter.converted.set(key, { schema, schemas: schemasLeft - this.schemasLeft });
    }
    return schema;
  }

  /** Combines a referenced schema with the keywords next to the reference. */
  private withSiblings(
    target: JsonObject | boolean,
    siblings: JsonObject,
    enclosing: EnclosingReference | undefined,
    depth: number,
  ): JsonObject | boolean {
    if (!this.converter.readsBesideReferences || Object.keys(siblings).length === 0) return target;
    const own = this.convertPlain(siblings, enclosing, depth);
    const names = Object.keys(own);
    if (names.length === 0 || typeof target === 'boolean') return target;
    const isAnnotation = names.every((name) => ['description', 'default', 'examples', 'deprecated'].includes(name));
    return isAnnotation ? { ...target, ...own } : { ...own, allOf: [target, ...listOf(own['allOf'])] };
  }

  /**
   * Converts a recursive schema to an entry of `definitions`.
   * @returns its name
   */
  private define(reference: string): string {
    const name = this.converter.nameOf(reference);
    if (this.definitions.has(name)) return name;
    // Set the definition before the conversion, because the schema refers to itself.
    this.definitions.set(name, {});
    const converted = this.convertAny(
      this.converter.resolved({ $ref: reference }),
      { reference, depth: 0, outer: undefined },
      0,
    );
    this.definitions.set(name, isObject(converted) ? converted : {});
    return name;
  }

  private convertPlain(schema: JsonObject, enclosing: EnclosingReference | undefined, depth: number): JsonObject {
    const kept = selectKeywords(schema, this.use);
    if (depth >= this.depth) return outline(kept);
    const convertNested = (value: unknown): unknown => this.convertAny(value, enclosing, depth + 1);
    const { required: _, ...rest } = kept;
    const converted: Record<string, unknown> = kept['properties'] === undefined ? { ...kept } : rest;
    for (const [name, value] of Object.entries(kept)) {
      if (name === 'properties') Object.assign(converted, this.convertProperties(kept, convertNested));
      else if (name === 'patternProperties') converted[name] = mapValues(value as JsonObject, convertNested);
      else if (name === 'dependentSchemas') {
        converted[name] = mapValues(value as JsonObject, (each) => this.convertAny(each, enclosing, depth));
      } else if (['allOf', 'anyOf', 'oneOf', 'prefixItems'].includes(name)) {
        // Alternatives do not increase the depth, because they concern the same value.
        const isChoice = this.use === 'input' && (name === 'anyOf' || name === 'oneOf');
        converted[name] = listOf(value).map((each) => {
          const alternative = this.convertAny(each, enclosing, depth + (name === 'prefixItems' ? 1 : 0));
          return isChoice ? withDiscriminator(schema, each, alternative) : alternative;
        });
      } else if (['not', 'if', 'then', 'else'].includes(name))
        converted[name] = this.convertAny(value, enclosing, depth);
      else if (['items', 'additionalProperties', 'propertyNames', 'contains'].includes(name))
        converted[name] = convertNested(value);
    }
    return converted;
  }

  /**
   * Returns `properties` without read-only properties (input) or write-only properties (output). Also returns
   * `required` without the names of these properties.
   */
  private convertProperties(schema: JsonObject, convertNested: (value: unknown) => unknown): JsonObject {
    const hidden = this.use === 'input' ? 'readOnly' : 'writeOnly';
    const all = Object.entries(isObject(schema['properties']) ? schema['properties'] : {});
    // Arguments with the name `__proto__` are rejected, so no schema may contain this name.
    const shown = all.filter(([name, value]) => name !== '__proto__' && !this.hasFlag(value, hidden));
    const removed = new Set(all.map(([name]) => name));
    for (const [name] of shown) removed.delete(name);
    const required = listOf(schema['required']).filter((name) => !removed.has(name as string));
    const properties = Object.fromEntries(shown.map(([name, value]) => [name, convertNested(value)]));
    return { properties, ...(required.length === 0 ? {} : { required }) };
  }

  private hasFlag(schema: unknown, flag: 'readOnly' | 'writeOnly'): boolean {
    return isObject(schema) && (schema[flag] === true || this.converter.resolved(schema)[flag] === true);
  }
}

/**
 * Restricts the discriminator property of an alternative to the values that select the alternative (OpenAPI,
 * Discriminator Object). JSON Schema has no discriminator.
 */
function withDiscriminator(
  { discriminator }: JsonObject,
  alternative: unknown,
  converted: JsonObject | boolean,
): unknown {
  if (!isObject(discriminator) || !isObject(alternative) || typeof converted === 'boolean') return converted;
  const { $ref: reference } = alternative;
  const { propertyName: name, mapping } = discriminator;
  const { properties } = converted;
  if (typeof reference !== 'string' || typeof name !== 'string' || !isObject(properties)) return converted;
  const mapped = Object.entries(isObject(mapping) ? mapping : {}).flatMap(([value, to]) =>
    to === reference || `#/components/schemas/${String(to)}` === reference ? [value] : [],
  );
  const kinds = mapped.length > 0 ? mapped : [reference.slice(reference.lastIndexOf('/') + 1)];
  const own = isObject(properties[name]) ? properties[name] : {};
  const ownKinds = own['const'] === undefined ? own['enum'] : [own['const']];
  const common = Array.isArray(ownKinds) ? kinds.filter((each) => ownKinds.includes(each)) : kinds;
  // Documents often use values that are not the names of schemas. In this case, keep the allowed values of the schema.
  if (common.length === 0) return converted;
  const { const: _const, enum: _enum, ...rest } = own;
  const kind = common.length > 1 ? { enum: common } : { const: common[0] };
  return { ...converted, properties: { ...properties, [name]: { ...rest, ...kind } } };
}

/**
 * Returns the innermost enclosing occurrence of a reference. Returns undefined if no occurrence encloses the reference.
 */
function outerOf(reference: string, enclosing: EnclosingReference | undefined): EnclosingReference | undefined {
  let outer = enclosing;
  while (outer !== undefined && outer.reference !== reference) outer = outer.outer;
  return outer;
}

/** Returns only the type and the description of a schema. */
function outline(schema: JsonObject): JsonObject {
  const { type, description } = schema;
  const knownType = type ?? (isObject(schema['properties']) ? 'object' : undefined);
  return {
    ...(knownType === undefined ? {} : { type: knownType }),
    ...(description === undefined ? {} : { description }),
  };
}

function mapValues(map: JsonObject, convert: (value: unknown) => unknown): JsonObject {
  return Object.fromEntries(
    Object.entries(map).flatMap(([name, value]) => (name === '__proto__' ? [] : [[name, convert(value)]])),
  );
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
