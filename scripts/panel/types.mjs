/**
 * `npm run panel:types`: writes the types of the admin API for the panel, from what `trailgate openapi admin` prints. The
 * file is not in the repository. Type checking and lint write it if it is older than the build (`--if-stale`).
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FILE = `${ROOT}src/panel/api/admin-api.d.ts`;

function run(...args) {
  const { stdout, stderr, status } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

run('scripts/build.mjs', '--if-stale');
const hash = readFileSync(`${ROOT}dist/sources.sha256`, 'utf8');
const heading = `/** Types of the admin API, written by \`npm run panel:types\`. Build: ${hash} */\n`;
const isFresh = existsSync(FILE) && readFileSync(FILE, 'utf8').startsWith(heading);
if (!isFresh || !process.argv.includes('--if-stale')) {
  const { default: openapiTS, astToString } = await import('openapi-typescript');
  const document = JSON.parse(run('dist/main.js', 'openapi', 'admin'));
  // A field with a default may be left out of a request.
  writeFileSync(FILE, heading + astToString(await openapiTS(document, { defaultNonNullable: false })));
}
