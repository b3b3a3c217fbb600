/** How the image runs the program. */
import { readFileSync } from 'node:fs';
import path from 'node:path';

const DOCKERFILE = path.resolve(import.meta.dirname, '../../Dockerfile');

/** Variables for the C library, as the `Dockerfile` sets them. @returns {NodeJS.ProcessEnv} */
export function imageMemorySettings() {
  const lines = readFileSync(DOCKERFILE, 'utf8').matchAll(/^\s+(MALLOC_\w+)=(\d+)\b/gm);
  const settings = Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
  if (Object.keys(settings).length === 0) throw new Error('the Dockerfile says nothing of the C library');
  return settings;
}
