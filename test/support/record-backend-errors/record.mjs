/**
 * Updates the error responses in ../backend-errors/NAME.json. Sends the `request` of each entry to the application at
 * BASE, and writes the status, content type and body of its response. Keeps `problem`, which is what the gateway must
 * make of the response (see src/proxy/backend-errors/framework-errors.spec.ts). Skips entries without a `request`.
 *
 *   node record.mjs NAME BASE VERSION
 */
import { readFileSync, writeFileSync } from 'node:fs';

const [name, base, version] = process.argv.slice(2);
const file = new URL(`../backend-errors/${name}.json`, import.meta.url);
const fixture = JSON.parse(readFileSync(file, 'utf8'));

async function record({ what, request, problem }) {
  const { method, path, body, accept = 'application/json' } = request;
  const headers = { accept, ...(body !== undefined && { 'content-type': 'application/json' }) };
  const sent = typeof body === 'object' ? JSON.stringify(body) : body;
  const response = await fetch(`${base}${path}`, { method, headers, body: sent, signal: AbortSignal.timeout(30_000) });
  const contentType = response.headers.get('content-type') ?? '';
  return { what, request, status: response.status, contentType, body: await response.text(), problem };
}

const responses = [];
for (const response of fixture.responses)
  responses.push(response.request === undefined ? response : await record(response));
writeFileSync(file, `${JSON.stringify({ ...fixture, version, responses }, null, 2)}\n`);
