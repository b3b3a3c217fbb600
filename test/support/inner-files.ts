/** Files behind a gateway, which tests request over HTTP and by inner calls. */
import { afterAll, beforeAll } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerResponse } from 'node:http';
import { startBackend, type Backend, type RecordedRequest } from './backend.js';
import { send, type Answer } from './http.js';
import { startInnerWorld, type InnerRequest, type InnerWorld } from './inner-world.js';
import { temporaryFolder } from './processes.js';

export const LARGE = 'x'.repeat(200_000);
const FIRST_BYTE_MS = 300;
/** Maximum time in ms that the gateway waits for the next part of a response body. */
export const IDLE_MS = 400;

/** Access to the files by both ways. */
export interface InnerFiles {
  readonly backend: Backend;
  readonly world: InnerWorld;
  /** Secret of a key with all scopes. */
  readonly secret: string;
  /** Requests a file over HTTP. The default secret is `secret`. */
  readonly rest: (request: InnerRequest, secret?: string) => Promise<Answer>;
  /** Returns the log lines of a request. */
  readonly linesOf: (requestId: string) => Record<string, unknown>[];
  readonly stop: () => Promise<void>;
}

/** Returns a request for a file. */
export const fileRequest = (name: string, more: Partial<InnerRequest> = {}): InnerRequest => ({
  match: 'GET /files/{name}',
  url: `/api/v1/files/${name}`,
  ...more,
});

/** Starts the files before the first test of a test file, and stops them after the last. */
export function filesOfTests(): InnerFiles {
  const files: Partial<InnerFiles> = {};
  beforeAll(async () => void Object.assign(files, await startInnerFiles()));
  afterAll(() => files.stop?.());
  return files as InnerFiles;
}

/** Starts the gateway and the backend. The file name selects the backend's response, as in `respond`. */
async function startInnerFiles(): Promise<InnerFiles> {
  const logFile = join(temporaryFolder('inner-log'), 'log');
  /** Responses that never end by themselves. */
  const endless: ServerResponse[] = [];
  const backend = await startBackend(async (request, response, recorded) => {
    const name = /\/files\/([^?]*)/.exec(request.url ?? '')?.[1] ?? '';
    await respond(name, response, recorded, endless);
  });
  const operation = (match: string, scope: string) => ({ match, service: 'files', scopes: [scope] });
  const file = {
    gateway: { host: '127.0.0.1', port: 0 },
    services: {
      files: { targets: [backend.url], timeouts: { firstByte: `${FIRST_BYTE_MS}ms`, idle: `${IDLE_MS}ms` } },
      nowhere: { targets: ['http://127.0.0.1:9'] },
    },
    operations: [
      operation('GET /files/{name}', 'files:read'),
      operation('HEAD /files/{name}', 'files:read'),
      operation('POST /files/{name}', 'files:write'),
      operation('GET /files/secret', 'files:read'),
      { match: 'GET /nowhere', service: 'nowhere', scopes: [] },
      { match: 'GET /gone', service: 'files', scopes: [], sunset: '2020-01-01' },
      { match: 'POST /emits/{name}', service: 'files', scopes: [], emits: 'file.read' },
    ],
    events: ['file.read'],
    plans: { some: { key: { minute: 1_000 }, account: { month: 10_000 } }, few: { key: { minute: 3 } } },
  };
  const world = await startInnerWorld({ 'gateway.yaml': JSON.stringify(file) }, logFile);
  const { secret } = await world.newKey('some');
  return {
    backend,
    world,
    secret,
    rest: ({ match, url, body }, of = secret) => {
      const type = body === undefined ? {} : { 'content-type': 'text/plain' };
      const headers = { authorization: `Bearer ${of}`, ...type };
      return send(world.url + url, { method: match.split(' ')[0]!, headers, ...(body === undefined ? {} : { body }) });
    },
    linesOf: (requestId) =>
      readFileSync(logFile, 'utf8')
        .split('\n')
        .filter((line) => line.includes(`"request_id":"${requestId}"`))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    stop: async () => {
      for (const response of endless) response.destroy();
      await world.stop();
      await backend.stop();
    },
  };
}

/**
 * Responds to `/files/<name>` as the name says: a status code, `echo`, `chunked`, `endless`, `broken`, `trickle`,
 * `large`, `reset` or `hang`.
 */
async function respond(
  name: string,
  response: ServerResponse,
  { body }: RecordedRequest,
  endless: ServerResponse[],
): Promise<void> {
  const say = (status: number, text: string) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  if (/^\d{3}$/.test(name)) {
    const detail = JSON.stringify({ message: 'as the backend says', code: 'its_own' });
    say(Number(name), name === '204' ? '' : detail);
  } else if (name === 'echo') say(200, body.toString());
  else if (name === 'chunked' || name === 'endless' || name === 'broken' || name === 'trickle') {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"pieces":[1');
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (name === 'chunked') response.end(',2]}');
    else if (name === 'broken') response.destroy();
    else if (name === 'endless') {
      endless.push(response);
      const write = (): void => {
        while (response.write(LARGE)) continue;
        response.once('drain', write);
      };
      write();
    } else {
      endless.push(response);
      const timer = setInterval(() => response.write(' '), 100);
      response.on('close', () => clearInterval(timer));
    }
  } else if (name === 'large') say(200, `"${LARGE}"`);
  else if (name === 'reset') response.destroy();
  else if (name !== 'hang') say(200, JSON.stringify({ name }));
}
