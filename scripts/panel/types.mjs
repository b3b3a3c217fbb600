/**
 * `npm run panel:types`: generates the panel's types of the admin API from the output of `trailgate openapi admin`. The
 * generated file is not in the repository. Type checking and lint regenerate it after each new build (`--if-stale`).
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
  // A request can omit a field that has a default.
  writeFileSync(FILE, heading + astToString(await openapiTS(document, { defaultNonNullable: false })));
}
