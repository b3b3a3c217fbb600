/** Marks the settings of the schema that take effect only after a restart. */
import { z } from 'zod';

const builtAtStart = new WeakSet<z.core.$ZodType>();

/** Marks a setting whose changes take effect only after a restart. Returns the same schema. */
export function untilRestart<Schema extends z.core.$ZodType>(schema: Schema): Schema {
  builtAtStart.add(schema);
  return schema;
}

/** Lists the paths of all marked settings, such as `['gateway', 'port']`. */
export function pathsBuiltAtStart(schema: z.core.$ZodType, path: readonly string[] = []): (readonly string[])[] {
  if (builtAtStart.has(schema)) return [path];
  if (schema instanceof z.ZodPrefault) return pathsBuiltAtStart(schema.def.innerType, path);
  if (!(schema instanceof z.ZodObject)) return [];
  const members: [string, z.core.$ZodType][] = Object.entries(schema.shape);
  return members.flatMap(([name, member]) => pathsBuiltAtStart(member, [...path, name]));
}
