/**
 * Schemas of OpenAPI documents (3.0 and 3.1) as JSON Schema 2020-12 that is whole in itself: references are replaced by
 * what they name, and what cannot be checked or would be refused by a client is left out.
 */
import { resolveReference } from '../../openapi/openapi-references.js';
import { isObject, type JsonObject } from '../../openapi/openapi-traversal.js';
import { upgradeSchema } from '../../openapi/openapi-upgrade.js';
import { keptKeywords, type SchemaUse } from './schema-keywords.js';

/** Schemas within a schema: more of them nobody reads. */
const MOST_SCHEMAS = 2_000;
/** Of the JSON of one: an assistant reads all of it. */
const MOST_CHARACTERS = { input: 64 * 1024, output: 8 * 1024 } as const;
/** How deep a schema may be that is too large as it is; the smallest is taken whatever its size. */
const DEPTHS = [6, 4, 3, 2, 1] as const;

/** A schema that is whole in itself. */
export interface ConvertedSchema {
  readonly schema: JsonObject;
  /** What its references name: schemas that hold themselves. */
  readonly definitions: ReadonlyMap<string, JsonObject>;
}

/** A reference that was followed to where something stands, and those before it. */
interface Inside {
  readonly reference: string;
  readonly depth: number;
  readonly outer: Inside | undefined;
}

/** Thrown within, where a schema is larger than it may be. */
const TOO_LARGE = Symbol('too large');

/** Converts the schemas of one document. */
export class SchemaConverter {
  private readonly isOld: boolean;
  private readonly names = new Map<string, string>();
  /** What references name, by use, depth that is left and reference: many schemas name the same. */
  readonly converted = new Map<string, { readonly schema: JsonObject | boolean; readonly schemas: number }>();

  constructor(readonly document: JsonObject) {
    this.isOld = String(document['openapi']).startsWith('3.0');
  }

  /**
   * A schema without references; where it holds itself, with references to `definitions`. One that is too large is cut
   * at some depth: what lies below is any object.
   */
  convert(schema: unknown, use: SchemaUse): ConvertedSchema {
    // What comes back has no definitions: its recursion ends at a depth, too.
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

  /** What a reference names, or the value itself. */
  resolved(value: unknown): JsonObject {
    const found = resolveReference(this.document, value);
    return isObject(found) ? found : {};
  }

  /** What a reference is called in `$defs`: the same in all that is converted, so that it can be put together. */
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

  /** One schema, not those within it, in 3.1's words. */
  upgraded(schema: JsonObject): JsonObject {
    return this.isOld ? upgradeSchema(schema) : schema;
  }

  /** What stands beside a reference counts since 3.1. */
  get readsBesideReferences(): boolean {
    return !this.isOld;
  }
}

class Conversion {
  readonly definitions = new Map<string, JsonObject>();
  private schemasLeft = MOST_SCHEMAS;
  /** How often a reference has led back to where it stands. */
  private leadsBack = 0;

  constructor(
    private readonly converter: SchemaConverter,
    private readonly use: SchemaUse,
    /** Further down a schema says only what kind of value there is. */
    private readonly depth: number,
  ) {}

  convert(schema: unknown): JsonObject {
    const converted = this.any(schema, undefined, 0);
    return isObject(converted) ? converted : {};
  }

  /** @param inside the references that lead here. */
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
      // That a value is as it has to be says nothing.
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
    // What leads back to where it stands is another schema elsewhere.
    if (this.leadsBack === leadsBack) {
      this.converter.converted.set(key, { schema, schemas: schemasLeft - this.schemasLeft });
    }
    return schema;
  }

  /** What stands beside a reference is said of this place alone. */
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
    // It is named within itself.
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
        // An alternative is no further down than what it is an alternative of.
        const isChoice = this.use === 'input' && (name === 'anyOf' || name === 'oneOf');
        converted[name] = listOf(value).map((each) => {
          const alternative = this.any(each, inside, depth + (name === 'prefixItems' ? 1 : 0));
          return isChoice ? withKind(schema, each, alternative) : alternative;
        });
      } else if (['not', 'if', 'then', 'else'].includes(name)) converted[name] = this.any(value, inside, depth);
      else if (['items', 'additionalProperties', 'propertyNames', 'contains'].includes(name))
        converted[name] = one(value);
    }
    return converted;
  }

  /** Properties without those that go the other way, and what of `required` is left. */
  private properties(schema: JsonObject, one: (value: unknown) => unknown): JsonObject {
    const hidden = this.use === 'input' ? 'readOnly' : 'writeOnly';
    const all = Object.entries(isObject(schema['properties']) ? schema['properties'] : {});
    // Whoever may send `__proto__` is refused: no schema asks for it.
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
 * Says in an alternative by which value it is told from the others (OpenAPI, Discriminator Object): JSON Schema has no
 * other word for that.
 */
function withKind({ discriminator }: JsonObject, alternative: unknown, converted: JsonObject | boolean): unknown {
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
  // Its own values say what is meant, also where they are not the name of the schema as they should be.
  if (own['enum'] !== undefined || own['const'] !== undefined) return converted;
  const kind = kinds.length > 1 ? { enum: kinds } : { const: kinds[0] };
  return { ...converted, properties: { ...properties, [name]: { ...own, ...kind } } };
}

/** The nearest place at which a reference was followed already. */
function outerOf(reference: string, inside: Inside | undefined): Inside | undefined {
  let outer = inside;
  while (outer !== undefined && outer.reference !== reference) outer = outer.outer;
  return outer;
}

/** What is left of a schema that is too far down. */
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
