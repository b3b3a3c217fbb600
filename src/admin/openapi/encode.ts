/**
 * Encodes values as resources of the admin API. Names change to snake case, and times get the offset of a time zone.
 */
import { z } from 'zod';
import { formatWithOffset } from '../../platform/rfc3339.js';

type CamelCase<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<CamelCase<Rest>>}` : Name;

/**
 * Decoded is the type of value that `encode` expects for a schema. Names are in camel case, times are in milliseconds
 * since the epoch, and lists may be readonly.
 */
type Decoded<Field> = Field extends z.ZodISODateTime
  ? number
  : Field extends z.ZodNullable<infer Inner>
    ? Decoded<Inner> | null
    : Field extends z.ZodArray<infer Item>
      ? readonly Decoded<Item>[]
      : Field extends z.ZodObject<infer Shape>
        ? { readonly [Name in keyof Shape as CamelCase<Name>]: Decoded<Shape[Name]> }
        : z.output<Field>;

/**
 * Encodes a value in the field order of its schema. For example, the field `created_at` gets the value of `createdAt`,
 * in milliseconds since the epoch. Omits properties that are not in the schema. Validates nothing, because the compiler
 * checks the types.
 *
 * @param timeZone IANA time zone for the offset of times
 */
export function encode<Schema extends z.ZodObject>(
  schema: Schema,
  value: Decoded<Schema>,
  timeZone: string,
): z.output<Schema> {
  return encoderOf(schema)(value, timeZone) as z.output<Schema>;
}

type Encoder = (value: unknown, timeZone: string) => unknown;

/** Encoders by schema, created on first use. */
const encoders = new WeakMap<z.core.$ZodType, Encoder>();

function encoderOf(schema: z.core.$ZodType): Encoder {
  const cached = encoders.get(schema);
  if (cached !== undefined) return cached;
  const created = createEncoder(schema);
  encoders.set(schema, created);
  return created;
}

function createEncoder(schema: z.core.$ZodType): Encoder {
  if (schema instanceof z.ZodISODateTime) return (ms, timeZone) => formatWithOffset(ms as number, timeZone);
  if (schema instanceof z.ZodNullable) {
    const inner = encoderOf(schema.unwrap());
    return (value, timeZone) => (value === null ? null : inner(value, timeZone));
  }
  if (schema instanceof z.ZodArray) {
    const item = encoderOf(schema.element);
    return (value, timeZone) => (value as readonly unknown[]).map((each) => item(each, timeZone));
  }
  if (!(schema instanceof z.ZodObject)) return (value) => value;
  const fields = Object.entries(schema.shape as Record<string, z.core.$ZodType>).map(([name, field]) => {
    const member = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    return { name, member, encoder: encoderOf(field) };
  });
  return (value, timeZone) => {
    const members = value as Readonly<Record<string, unknown>>;
    return Object.fromEntries(fields.map(({ name, member, encoder }) => [name, encoder(members[member], timeZone)]));
  };
}
