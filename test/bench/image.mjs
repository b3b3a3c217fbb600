/** Reads settings of the container image, so that benchmarks run the program with them. */
import { readFileSync } from 'node:fs';
import path from 'node:path';

const DOCKERFILE = path.resolve(import.meta.dirname, '../../Dockerfile');

/**
 * Returns the environment variables of the C library's allocator (`MALLOC_*`) that the `Dockerfile` sets. Throws if
 * there are none.
 * @returns {NodeJS.ProcessEnv}
 */
export function imageMemorySettings() {
  const lines = readFileSync(DOCKERFILE, 'utf8').matchAll(/^\s+(MALLOC_\w+)=(\d+)\b/gm);
  const settings = Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
  if (Object.keys(settings).length === 0) throw new Error('the Dockerfile sets no MALLOC_ variables');
  return settings;
}
