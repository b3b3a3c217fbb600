/**
 * Converts OpenAPI schemas (3.0 and 3.1) to self-contained JSON Schema 2020-12. References are inlined. Keywords that
 * cannot be checked, or that clients reject, are removed.
 */
import { resolveReference } from '../../openapi/openapi-references.js';
import { isObject, type JsonObject } from '../../openapi/openapi-traversal.js';
import { upgradeSchema } from '../../openapi/openapi-upgrade.js';
import { keptKeywords, type SchemaUse } from './schema-keywords.js';

/** Maximum number of nested schemas. */
const MOST_SCHEMAS = 2_000;
/** Maximum characters of a schema's JSON, since an assistant reads all of it. */
const MOST_CHARACTERS = { input: 64 * 1024, output: 8 * 1024 } as const;
/** Depths to which a schema that is too large is truncated, in order. The last is used at any size. */
const DEPTHS = [6, 4, 3, 2, 1] as const;

/** A self-contained schema. */
export interface ConvertedSchema {
  readonly schema: JsonObject;
  /** Definitions of recursive schemas. */
  readonly definitions: ReadonlyMap<string, JsonObject>;
}

/** A followed reference with its place, and the outer ones. */
interface Inside {
  readonly reference: string;
  readonly depth: number;
  readonly outer: Inside | undefined;
}

/** Thrown if a schema exceeds a limit. */
const TOO_LARGE = Symbol('too large');

/** SchemaConverter converts the schemas of one document. */
export class SchemaConverter {
  private readonly isOld: boolean;
  private readonly names = new Map<string, string>();
  /** Cache by use, remaining depth and reference, because many schemas share references. */
  readonly converted = new Map<string, { readonly schema: JsonObject | boolean; readonly schemas: number }>();

  constructor(readonly document: JsonObject) {
    this.isOld = String(document['openapi']).startsWith('3.0');
  }

  /**
   * Converts a schema. Recursive ones get references to `definitions`. Schemas that are too large are truncated at some
   * depth, below which anything of the type is allowed.
   */
  convert(schema: unknown, use: SchemaUse): ConvertedSchema {
    // Output schemas have no definitions, so recursion ends at a depth.
    for (const depth of use === 'input' ? [Infinity, ...DEPTHS] : DEPTHS) {
      try {
        const conversion = new Conversion(this, use, depth);
        const converted = conversion.convert(schema);
        const length = JSON.stringify([converted, ...conversion.definitions.values()]).length;
        if (length <= MOST_CHARACTERS[use]) return { schema: converted, definitions: conversion.definitions };
      } catch (error) {
        if (error !== TOO_LARGE) throw error;
      }
    }
    return { schema: {}, definitions: new Map() };
  }

  /** Resolves a reference, or returns the value itself. */
  resolved(value: unknown): JsonObject {
    const found = resolveReference(this.document, value);
    return isObject(found) ? found : {};
  }

  /** Returns the name of a reference in `$defs`. It is the same for all conversions, so that they can be combined. */
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

  /** Upgrades one schema to 3.1, without nested ones. */
  upgraded(schema: JsonObject): JsonObject {
    return this.isOld ? upgradeSchema(schema) : schema;
  }

  /** Siblings of a reference are used since 3.1. */
  get readsBesideReferences(): boolean {
    return !this.isOld;
  }
}

class Conversion {
  readonly definitions = new Map<string, JsonObject>();
  private schemasLeft = MOST_SCHEMAS;
  /** Number of references that led back to an enclosing one. */
  private leadsBack = 0;

  constructor(
    private readonly converter: SchemaConverter,
    private readonly use: SchemaUse,
    /** Depth below which only the type is kept. */
    private readonly depth: number,
  ) {}

  convert(schema: unknown): JsonObject {
    const converted = this.any(schema, undefined, 0);
    return isObject(converted) ? converted : {};
  }

  /** @param inside enclosing references */
  private any(schema: unknown, inside: Inside | undefined, depth: number): JsonObject | boolean {
    if (typeof schema === 'boolean') return schema;
    if (!isObject(schema)) return {};
    if (--this.schemasLeft < 0) throw TOO_LARGE;
    const { $ref: reference, ...beside } = schema;
    if (typeof reference !== 'string') return this.plain(this.converter.upgraded(schema), inside, depth);
    return this.withBeside(this.referred(reference, inside, depth), beside, inside, depth);
  }

  private referred(reference: string, inside: Inside | undefined, depth: number): JsonObject | boolean {
    const outer = outerOf(reference, inside);
    if (outer !== undefined && (outer.depth === depth || this.depth === Infinity)) {
      this.leadsBack++;
      // The value refers to itself, which adds no constraint.
      return outer.depth === depth ? {} : { $ref: `#/$defs/${this.define(reference)}` };
    }
    const key = `${this.use} ${this.depth - depth} ${reference}`;
    const known = this.converter.converted.get(key);
    if (known !== undefined) {
      this.schemasLeft -= known.schemas;
      if (this.schemasLeft < 0) throw TOO_LARGE;
      return known.schema;
    }
    const [schemasLeft, leadsBack] = [this.schemasLeft, this.leadsBack];
    const schema = this.any(this.converter.resolved({ $ref: reference }), { reference, depth, outer: inside }, depth);
    // A schema with a circular reference converts differently elsewhere, so it is not cached.
    if (this.leadsBack === leadsBack) {
      this.converter.converted.set(key, { schema, schemas: schemasLeft - this.schemasLeft });
    }
    return schema;
  }

  /** Combines a referenced schema with the siblings of the reference. */
  private withBeside(
    target: JsonObject | boolean,
    beside: JsonObject,
    inside: Inside | undefined,
    depth: number,
  ): JsonObject | boolean {
    if (!this.converter.readsBesideReferences || Object.keys(beside).length === 0) return target;
    const own = this.plain(beside, inside, depth);
    const names = Object.keys(own);
    if (names.length === 0 || typeof target === 'boolean') return target;
    const isAnnotation = names.every((name) => ['description', 'default', 'examples', 'deprecated'].includes(name));
    return isAnnotation ? { ...target, ...own } : { ...own, allOf: [target, ...listOf(own['allOf'])] };
  }

  private define(reference: string): string {
    const name = this.converter.nameOf(reference);
    if (this.definitions.has(name)) return name;
    // Set the definition first, because it can refer to itself.
    this.definitions.set(name, {});
    const converted = this.any(
      this.converter.resolved({ $ref: reference }),
      { reference, depth: 0, outer: undefined },
      0,
    );
    this.definitions.set(name, isObject(converted) ? converted : {});
    return name;
  }

  private plain(schema: JsonObject, inside: Inside | undefined, depth: number): JsonObject {
    const kept = keptKeywords(schema, this.use);
    if (depth >= this.depth) return outline(kept);
    const one = (value: unknown): unknown => this.any(value, inside, depth + 1);
    const { required: _, ...rest } = kept;
    const converted: Record<string, unknown> = kept['properties'] === undefined ? { ...kept } : rest;
    for (const [name, value] of Object.entries(kept)) {
      if (name === 'properties') Object.assign(converted, this.properties(kept, one));
      else if (name === 'patternProperties') converted[name] = mapValues(value as JsonObject, one);
      else if (name === 'dependentSchemas') {
        converted[name] = mapValues(value as JsonObject, (each) => this.any(each, inside, depth));
      } else if (['allOf', 'anyOf', 'oneOf', 'prefixItems'].includes(name)) {
        // Alternatives do not increase the depth.
        const isChoice = this.use === 'input' && (name === 'anyOf' || name === 'oneOf');
        converted[name] = listOf(value).map((each) => {
          const alternative = this.any(each, inside, depth + (name === 'prefixItems' ? 1 : 0));
          return isChoice ? withDiscriminator(schema, each, alternative) : alternative;
        });
      } else if (['not', 'if', 'then', 'else'].includes(name)) converted[name] = this.any(value, inside, depth);
      else if (['items', 'additionalProperties', 'propertyNames', 'contains'].includes(name))
        converted[name] = one(value);
    }
    return converted;
  }

  /** Returns the properties, without read-only or write-only ones, and the remaining `required`. */
  private properties(schema: JsonObject, one: (value: unknown) => unknown): JsonObject {
    const hidden = this.use === 'input' ? 'readOnly' : 'writeOnly';
    const all = Object.entries(isObject(schema['properties']) ? schema['properties'] : {});
    // `__proto__` in arguments is rejected, so no schema may ask for it.
    const shown = all.filter(([name, value]) => name !== '__proto__' && !this.is(value, hidden));
    const gone = new Set(all.map(([name]) => name));
    for (const [name] of shown) gone.delete(name);
    const required = listOf(schema['required']).filter((name) => !gone.has(name as string));
    const properties = Object.fromEntries(shown.map(([name, value]) => [name, one(value)]));
    return { properties, ...(required.length === 0 ? {} : { required }) };
  }

  private is(schema: unknown, flag: 'readOnly' | 'writeOnly'): boolean {
    return isObject(schema) && (schema[flag] === true || this.converter.resolved(schema)[flag] === true);
  }
}

/**
 * Adds the discriminator's value to an alternative (OpenAPI, Discriminator Object), which JSON Schema cannot express
 * otherwise.
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
  // Documents often use values that are not schema names, and then mean their own.
  if (common.length === 0) return converted;
  const { const: _const, enum: _enum, ...rest } = own;
  const kind = common.length > 1 ? { enum: common } : { const: common[0] };
  return { ...converted, properties: { ...properties, [name]: { ...rest, ...kind } } };
}

/** Returns the nearest enclosing place where a reference was followed. */
function outerOf(reference: string, inside: Inside | undefined): Inside | undefined {
  let outer = inside;
  while (outer !== undefined && outer.reference !== reference) outer = outer.outer;
  return outer;
}

/** Returns the type and description of a schema below the depth limit. */
function outline(schema: JsonObject): JsonObject {
  const { type, description } = schema;
  const of = type ?? (isObject(schema['properties']) ? 'object' : undefined);
  return { ...(of === undefined ? {} : { type: of }), ...(description === undefined ? {} : { description }) };
}

function mapValues(map: JsonObject, convert: (value: unknown) => unknown): JsonObject {
  return Object.fromEntries(
    Object.entries(map).flatMap(([name, value]) => (name === '__proto__' ? [] : [[name, convert(value)]])),
  );
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
