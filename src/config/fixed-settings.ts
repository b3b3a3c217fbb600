/** What is built when the program starts, and stays until it starts anew, whatever a later configuration says. */
import { isDeepStrictEqual } from 'node:util';
import { publicUrlOf } from './load.js';
import { RESTART_PATHS, type Config, type GatewayFile } from './model/schema.js';

/**
 * The part of a running file that stays: each setting of `RESTART_PATHS`. Goes through JSON as
 * it is; what is not set has no value.
 */
export type FixedSettings = readonly { readonly path: readonly string[]; readonly value?: unknown }[];

type Json = Readonly<Record<string, unknown>>;

/** Gives what of this file stays. */
export function fixedSettings(file: GatewayFile): FixedSettings {
  return RESTART_PATHS.map((path) => ({ path, value: valueAt(file, path) }));
}

/** Gives the configuration with what stays in the place of what it says itself. */
export function withFixedSettings<Given extends Config>(next: Given, fixed: FixedSettings): Given {
  const file = fixed.reduce<Json>((changed, { path, value }) => withValue(changed, path, value), next.file);
  return { ...next, file, publicUrl: publicUrlOf(file as GatewayFile) };
}

/** Names the settings that differ and only count after a restart. */
export function settingsToRestartFor(running: GatewayFile, next: GatewayFile): string[] {
  const differ = (path: readonly string[]) => !isDeepStrictEqual(valueAt(running, path), valueAt(next, path));
  return RESTART_PATHS.filter(differ).map((path) => path.join('.'));
}

function valueAt(file: Json, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (value as Json)[name], file);
}

/** A copy with another value at a path; what stands beside the path is the same. */
function withValue(object: Json, [name = '', ...rest]: readonly string[], value: unknown): Json {
  return { ...object, [name]: rest.length === 0 ? value : withValue(object[name] as Json, rest, value) };
}
