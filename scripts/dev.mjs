/**
 * `npm run dev`: builds `dist/` if it is stale, and runs the demo. Node's watcher (`--watch-path`) restarts this file
 * after every change in `src/`. If the build fails, the watcher waits for the next change.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const inProject = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

const { status } = spawnSync(process.execPath, [inProject('scripts/build.mjs'), '--if-stale'], { stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);
// The program reads its command from `process.argv`.
process.argv = [process.execPath, inProject('dist/main.js'), 'demo'];
await import('../dist/main.js');
