/** Loads a broken configuration as the program does, and measures the processor time. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readEnvironment } from '../../../src/config/model/environment.js';
import { loadConfig } from '../../../src/config/load.js';
import type { ConfigProblem } from '../../../src/config/model/problem.js';
import { cpuMsSince } from '../cpu-time.js';
import type { BrokenFiles } from './broken-config.js';

export interface Loaded {
  /** Empty if the configuration was accepted. */
  readonly problems: readonly ConfigProblem[];
  /** Processor time of this process in ms. Other load on the machine does not count. */
  readonly cpuMs: number;
}

/** Writes the files of a configuration into a folder. Creates the folder if it is missing. */
export function writeBroken(folder: string, files: BrokenFiles): void {
  mkdirSync(folder, { recursive: true });
  if (typeof files === 'function') return files(folder);
  const contents = typeof files === 'string' ? { 'gateway.yaml': files } : files;
  for (const [name, content] of Object.entries(contents)) writeFileSync(join(folder, name), content);
}

/**
 * Loads `gateway.yaml` from a folder. Returns its problems and the processor time.
 * @param variables environment variables that the file can refer to
 */
export async function loadBroken(folder: string, variables: Readonly<Record<string, string>> = {}): Promise<Loaded> {
  const before = process.cpuUsage();
  const result = await loadConfig(join(folder, 'gateway.yaml'), readEnvironment({}), variables);
  return { problems: 'problems' in result ? result.problems : [], cpuMs: cpuMsSince(before) };
}

/** Returns the place of a problem: `4:15` in `gateway.yaml`, `api.yaml:3:5` in another file. */
export function placeOf({ file, line, column }: ConfigProblem): string {
  const name = basename(file);
  return name === 'gateway.yaml' ? `${line}:${column}` : `${name}:${line}:${column}`;
}
