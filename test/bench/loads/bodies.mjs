/** Load 3: larger responses, and requests with bodies. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { SCOPE } from '../keys.mjs';
import { nginxModulesPath } from '../nginx.mjs';
import { temporaryFolder } from '../processes.mjs';
import { COLUMNS, fixed, notesOf, tableOf, whole } from './report.mjs';
import { measureRows } from './rounds.mjs';
import { openScene } from './scene.mjs';

const KILO = 1_024;
const ANSWERS = { '1k': KILO, '10k': 10 * KILO, '100k': 100 * KILO, '1m': KILO * KILO };
const REQUESTS = { '1k': KILO, '100k': 100 * KILO };

export const title = 'Bodies';

export async function measure(settings) {
  const folder = writeBodies();
  const operation = (match) => ({ match, service: 'customers', scopes: [SCOPE] });
  const gateway = await openScene({
    name: 'bodies',
    operations: ['GET /bodies/{name}', 'POST /bodies', 'POST /digest'].map(operation),
    backend: backendOf(folder),
  });
  await checkBodies(gateway, folder);
  const rows = [
    ...Object.entries(ANSWERS).map(([name, size]) => ({
      id: `GET ${name}`,
      title: `\`GET\`, answer of ${sizeText(size)}`,
      size,
      request: { path: `/api/v1/bodies/${name}`, length: size },
    })),
    ...Object.entries(REQUESTS).map(([name, size]) => ({
      id: `POST ${name}`,
      title: `\`POST\` of ${sizeText(size)}`,
      size,
      request: { path: '/api/v1/bodies', method: 'POST', bodyFile: path.join(folder, name), ...received(size) },
    })),
  ].map((row) => ({ ...row, gateway }));
  const summaries = await measureRows(rows, settings);
  return { rows: summaries.map((row, index) => ({ ...row, size: rows[index].size })) };
}

const sizeText = (size) => (size < KILO * KILO ? `${size / KILO} KB` : `${size / KILO / KILO} MB`);

/** Returns the expected response of `POST /bodies` to a body of `size` bytes, as fields of a `LoadRequest`. */
export function received(size) {
  const text = `{"received":${size}}`;
  return { contains: text, length: text.length };
}

/**
 * Writes JSON files for the backend to return and for the load to send.
 * @param sizes exact sizes in bytes by file name
 * @returns the folder of the files
 */
export function writeBodies(sizes = ANSWERS) {
  const folder = path.join(temporaryFolder(), 'files', 'bodies');
  mkdirSync(folder, { recursive: true });
  for (const [name, size] of Object.entries(sizes)) {
    const frame = JSON.stringify({ note: '' });
    const note = 'Put in at the bridge, take out below the second gorge. '.repeat(size / 50 + 1);
    writeFileSync(path.join(folder, name), JSON.stringify({ note: note.slice(0, size - frame.length) }));
  }
  return folder;
}

/**
 * Returns the nginx configuration of a backend that serves the files of `folder` at `/bodies/`. It responds to
 * `/bodies` with the length of the request body, and to `/digest` with its MD5.
 */
export function backendOf(folder) {
  const answer = (text) => `content_by_lua_block {
        ngx.req.read_body()
        local body = ngx.req.get_body_data() or ""
        local text = ${text}
        ngx.header.content_length = #text
        ngx.print(text)
      }`;
  const room = `client_max_body_size 2m; client_body_buffer_size 2m;`;
  const modules = ['ndk_http_module', 'ngx_http_lua_module'];
  return {
    modules: modules.map((name) => `load_module ${nginxModulesPath()}/${name}.so;`).join('\n'),
    http: 'lua_package_path "/usr/share/lua/5.1/?.lua;;";',
    locations: `
    location /bodies/ { root ${path.dirname(folder)}; open_file_cache max=10; }
    location = /bodies { ${room} ${answer(`'{"received":' .. #body .. '}'`)} }
    location = /digest { ${room} ${answer('ngx.md5(body)')} }`,
  };
}

/** Checks before the load that bodies arrive unchanged in both directions. */
async function checkBodies({ url, keys }, folder) {
  const authorization = `Bearer ${keys.plain.secrets[0]}`;
  const large = JSON.stringify({ noise: Array.from({ length: 20_000 }, () => Math.random()) });
  const digest = await fetch(`${url}/api/v1/digest`, {
    method: 'POST',
    body: large,
    headers: { authorization, 'content-type': 'application/json' },
  });
  assert.equal(
    await digest.text(),
    createHash('md5').update(large).digest('hex'),
    'the body that the backend received',
  );
  const answer = await fetch(`${url}/api/v1/bodies/1m`, { headers: { authorization } });
  const file = readFileSync(path.join(folder, '1m'), 'utf8');
  assert.equal(await answer.text(), file, 'the body of 1 MB that the client received');
}

export function table({ rows }) {
  const columns = {
    ...COLUMNS,
    'MB/s': (row) => whole((row.medians.requestsPerSecond * row.size) / 1e6),
    'against 1 KB': (row) => fixed(row.lowestCpu / rows[0].lowestCpu, 2),
  };
  return [tableOf('request', rows, columns), ...notesOf(rows)].join('\n\n');
}
