/** Settings that only take effect after a restart. */
import { isDeepStrictEqual } from 'node:util';
import { publicUrlOf } from './load.js';
import { RESTART_PATHS, type Config, type GatewayFile } from './model/schema.js';

/** Values of all settings in `RESTART_PATHS`. Survives JSON; unset ones have no value. */
export type FixedSettings = readonly { readonly path: readonly string[]; readonly value?: unknown }[];

type Json = Readonly<Record<string, unknown>>;

/** Returns the fixed settings of a file. */
export function fixedSettings(file: GatewayFile): FixedSettings {
  return RESTART_PATHS.map((path) => ({ path, value: valueAt(file, path) }));
}

/** Returns a configuration with its fixed settings replaced by those of the running one. */
export function withFixedSettings<Given extends Config>(next: Given, fixed: FixedSettings): Given {
  const file = fixed.reduce<Json>((changed, { path, value }) => withValue(changed, path, value), next.file);
  return { ...next, file, publicUrl: publicUrlOf(file as GatewayFile) };
}

/** Lists the changed settings that need a restart. */
export function settingsToRestartFor(running: GatewayFile, next: GatewayFile): string[] {
  const differ = (path: readonly string[]) => !isDeepStrictEqual(valueAt(running, path), valueAt(next, path));
  return RESTART_PATHS.filter(differ).map((path) => path.join('.'));
}

function valueAt(file: Json, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (value as Json)[name], file);
}

/** Returns a copy with another value at a path. */
function withValue(object: Json, [name = '', ...rest]: readonly string[], value: unknown): Json {
  return { ...object, [name]: rest.length === 0 ? value : withValue(object[name] as Json, rest, value) };
}
