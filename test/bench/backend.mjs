/**
 * Starts backends: nginx with one worker, which returns the same 1.1 KB of JSON for most paths, and counts requests.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePort, LOAD_CORE, startProgram, temporaryFolder, untilListening } from './processes.mjs';
import { nginxArgs, NGINX_TEMP_PATHS } from './nginx.mjs';

/** Response body: a list of eight customers, 1.1 KB. */
export const BODY = JSON.stringify({
  data: Array.from({ length: 8 }, (_, i) => ({
    id: `cus_${String(i).padStart(16, '0')}`,
    name: `Guest Number ${i}`,
    email: `guest.${i}@rafting.example`,
    phone: `+43 660 555 010${i}`,
    tours: 3,
  })),
  has_more: true,
  next_cursor: 'eyJpZCI6ImN1c18wMDAwMDAwMDAwMDAwMDA3In0',
});

/** Members of the response of `/echo`: the request headers that checks.mjs inspects, as the backend received them. */
const ECHO = ['authorization', 'x-account-id', 'x-api-key-id', 'x-api-scopes', 'x-request-id']
  .map((name) => `"${name}":"$http_${name.replaceAll('-', '_')}"`)
  .join(',');

function configuration(port, name, { modules = '', http = '', locations = '' }) {
  return `
${modules}
daemon off; worker_processes 1; error_log stderr crit; pid backend-${name}.pid; user root;
events { worker_connections 8192; }
http {
  ${NGINX_TEMP_PATHS}
  ${http}
  access_log off; server_tokens off; default_type application/json; keepalive_requests 1000000000;
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / { return 200 '${BODY}'; }
    location = /echo { return 200 '{${ECHO}}'; }
    location = /api/v1/echo { return 200 '{${ECHO}}'; }
    location = /__status { stub_status; }
    ${locations}
  }
}`;
}

/**
 * Starts a backend on the load's core. `stopAll` stops it.
 * @param {string} name unique in the run, part of file names
 * @param {{ modules?: string, http?: string, locations?: string }} more additional lines of nginx's configuration
 * @returns its program, port and URL; and `requests()`, which resolves to the number of requests so far, without its
 *   own
 */
export async function startBackend(name, more = {}) {
  const port = await freePort();
  const file = path.join(temporaryFolder(), `backend-${name}.conf`);
  writeFileSync(file, configuration(port, name, more));
  const program = startProgram({ name: `backend-${name}`, ...nginxArgs(file), core: LOAD_CORE });
  await untilListening(program, port);
  let questions = 0;
  return {
    program,
    port,
    url: `http://127.0.0.1:${port}`,
    async requests() {
      const text = await (await fetch(`http://127.0.0.1:${port}/__status`)).text();
      questions += 1;
      const [, , , total] = /(\d+) (\d+) (\d+)\s*\n?Reading/.exec(text) ?? [];
      return Number(total) - questions;
    },
  };
}
