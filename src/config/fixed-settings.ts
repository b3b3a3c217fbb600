/** Keeps settings that need a restart at their running values while the configuration changes. */
import { isDeepStrictEqual } from 'node:util';
import { publicUrlOf } from './load.js';
import { RESTART_PATHS, type Config, type GatewayFile } from './model/schema.js';

/** Values of all settings in `RESTART_PATHS`. As JSON, an unset setting has no `value`. */
export type FixedSettings = readonly { readonly path: readonly string[]; readonly value?: unknown }[];

type Json = Readonly<Record<string, unknown>>;

/** Returns the values of all settings in a file that need a restart. */
export function fixedSettings(file: GatewayFile): FixedSettings {
  return RESTART_PATHS.map((path) => ({ path, value: valueAt(file, path) }));
}

/**
 * Returns the next configuration, in which all settings that need a restart have their running values.
 * @param fixed running values, as `fixedSettings` returns them
 */
export function withFixedSettings<ConfigType extends Config>(next: ConfigType, fixed: FixedSettings): ConfigType {
  const file = fixed.reduce<Json>((changed, { path, value }) => withValue(changed, path, value), next.file);
  return { ...next, file, publicUrl: publicUrlOf(file as GatewayFile) };
}

/** Lists the changed settings that need a restart, such as `gateway.port`. */
export function settingsToRestartFor(running: GatewayFile, next: GatewayFile): string[] {
  const isChanged = (path: readonly string[]) => !isDeepStrictEqual(valueAt(running, path), valueAt(next, path));
  return RESTART_PATHS.filter(isChanged).map((path) => path.join('.'));
}

function valueAt(file: Json, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (value as Json)[name], file);
}

/** Returns a copy of an object with another value at a path. */
function withValue(object: Json, [name = '', ...rest]: readonly string[], value: unknown): Json {
  return { ...object, [name]: rest.length === 0 ? value : withValue(object[name] as Json, rest, value) };
}
