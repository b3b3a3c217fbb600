/**
 * `npm run panel:types`: writes the types of the admin API for the panel, from what `trailgate openapi admin` prints.
 * `--print` writes them to standard output instead.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { stdout, stderr, status } = spawnSync(process.execPath, ['dist/main.js', 'openapi', 'admin'], {
  cwd: ROOT,
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
});
if (status !== 0) throw new Error(stderr);
// A field with a default may be left out of a request.
const types = astToString(await openapiTS(JSON.parse(stdout), { defaultNonNullable: false }));
const text = `/** Types of the admin API, written by \`npm run panel:types\` from its description. Not for editing. */\n${types}`;
if (process.argv.includes('--print')) process.stdout.write(text);
else writeFileSync(`${ROOT}src/panel/api/admin-api.d.ts`, text);
