/**
 * `npm run dev`: builds what has changed and runs the demo from it. Node's watcher (`--watch-path`) runs this file anew on every change in
 * `src/`; where the build fails it waits for the next one.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const inProject = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

const { status } = spawnSync(process.execPath, [inProject('scripts/build.mjs'), '--if-stale'], { stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);
// As if it had been started by itself.
process.argv = [process.execPath, inProject('dist/main.js'), 'demo'];
await import('../dist/main.js');
