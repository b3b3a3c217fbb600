/** Marks settings of the schema that are built into what runs when the program starts. */
import { z } from 'zod';

const builtAtStart = new WeakSet<z.core.$ZodType>();

/** Says of a setting that it counts from the next start on: nobody takes over another value while the program runs. */
export function untilRestart<Schema extends z.core.$ZodType>(schema: Schema): Schema {
  builtAtStart.add(schema);
  return schema;
}

/** Lists the settings of a schema that count from the next start on, each by its path. */
export function pathsBuiltAtStart(schema: z.core.$ZodType, path: readonly string[] = []): (readonly string[])[] {
  if (builtAtStart.has(schema)) return [path];
  if (schema instanceof z.ZodPrefault) return pathsBuiltAtStart(schema.def.innerType, path);
  if (!(schema instanceof z.ZodObject)) return [];
  const members: [string, z.core.$ZodType][] = Object.entries(schema.shape);
  return members.flatMap(([name, member]) => pathsBuiltAtStart(member, [...path, name]));
}
