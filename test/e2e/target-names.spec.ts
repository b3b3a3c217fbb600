/**
 * A target with a host name uses all its addresses, and resolves the name repeatedly. Uses real sockets and a test
 * resolver.
 */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { LookupAddress } from 'node:dns';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { configSchema } from '../../src/config/model/schema.js';
import type { Operation } from '../../src/config/model/schema.js';
import { NodeClientResponse } from '../../src/http/client/node-client-response.js';
import { Forwarder } from '../../src/proxy/calls/forwarder.js';
import { send } from '../support/http.js';
import { eventually } from '../support/processes.js';

const RESOLVE_INTERVAL_MS = 50;

/** Addresses that the test resolver returns, or an error if the name cannot be resolved. */
let resolved: readonly string[] | Error;
let lookups: string[];
let servers: Server[];
/** Address and Host of every request, in order of arrival. */
let arrivals: { address: string; host: string | undefined }[];
let port: number;
let forwarder: Forwarder;
let isOpen: boolean;
let front: Server;
let url: string;

async function listenOn(address: string, onPort: number): Promise<Server> {
  const server = createServer((request, response) => {
    arrivals.push({ address, host: request.headers.host });
    response.end(address);
  });
  server.listen(onPort, address);
  await once(server, 'listening');
  servers.push(server);
  return server;
}

async function stop(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

async function resolve(name: string): Promise<readonly LookupAddress[]> {
  lookups.push(name);
  if (resolved instanceof Error) throw resolved;
  return resolved.map((address) => ({ address, family: 4 }));
}

const operation: Operation = {
  index: 0,
  id: 'get',
  method: 'GET',
  template: '/x',
  service: 'named',
  scopes: [],
  cost: 1,
};

beforeEach(async () => {
  isOpen = true;
  lookups = [];
  servers = [];
  arrivals = [];
  const first = await listenOn('127.0.0.2', 0);
  ({ port } = first.address() as AddressInfo);
  await listenOn('127.0.0.3', port);
  resolved = ['127.0.0.2', '127.0.0.3'];
  const { services } = configSchema.parse({
    services: { named: { targets: [`http://backend.test:${port}/base`] } },
    plans: {},
  });
  forwarder = new Forwarder(services, { resolve, resolveIntervalMs: RESOLVE_INTERVAL_MS });
  front = createServer((message, response) => {
    forwarder.forward({
      operation,
      accountId: 'acc_1',
      message,
      path: '/x',
      basePath: '/api/v1',
      fieldLines: '',
      ownCors: false,
      client: {
        responseLines: '',
        dateLine: '',
        response: new NodeClientResponse(message, response, 0),
        failedTarget: '',
        failedStatus: 0,
        isUpgraded: false,
        startedMs: performance.now(),
        isStreamed: false,
        upstreamMs: 0,
        bytesIn: 0,
        bytesOut: 0,
        wasSent: false,
        closeListener: undefined,
        onUploadCut: () => undefined,
        onFailed: ({ status }) => response.writeHead(status).end(),
      },
    });
  });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  url = `http://127.0.0.1:${(front.address() as AddressInfo).port}/x`;
  await waitForAddresses('127.0.0.2', '127.0.0.3');
});
afterEach(async () => {
  if (isOpen) await forwarder.close(100);
  for (const server of [front, ...servers]) if (server.listening) await stop(server);
});

const addresses = (): (string | null)[] => forwarder.listTargets(0).map(({ address }) => address);

const waitForAddresses = (...expected: string[]): Promise<void> =>
  eventually(`the addresses are ${expected.join()}`, () => addresses().join() === expected.join());

/** Sends requests, expects 200 for each, and returns the addresses that served them. */
async function servedBy(count: number): Promise<Set<string>> {
  const served = new Set<string>();
  for (let index = 0; index < count; index++) {
    const { status, text } = await send(url);
    expect(status).toBe(200);
    served.add(text);
  }
  return served;
}

it('requests are spread over all addresses, and Host is the name of the target', async () => {
  expect(await servedBy(40)).toEqual(new Set(['127.0.0.2', '127.0.0.3']));
  expect(new Set(arrivals.map(({ host }) => host))).toEqual(new Set([`backend.test:${port}`]));
  expect(new Set(lookups)).toEqual(new Set(['backend.test']));
});

it('no request fails because of a dead address', async () => {
  await stop(servers[0] as Server);
  expect(await servedBy(40)).toEqual(new Set(['127.0.0.3']));
});

it('a new address is used and a removed one is not, without a failed request', async () => {
  resolved = ['127.0.0.3'];
  await waitForAddresses('127.0.0.3');
  expect(await servedBy(20)).toEqual(new Set(['127.0.0.3']));
  await listenOn('127.0.0.4', port);
  resolved = ['127.0.0.3', '127.0.0.4', '127.0.0.4'];
  await waitForAddresses('127.0.0.3', '127.0.0.4');
  expect(await servedBy(40)).toEqual(new Set(['127.0.0.3', '127.0.0.4']));
});

it.each([
  ['fails', new Error('SERVFAIL')],
  ['is empty', []],
])('the known addresses stay in use while an answer of the resolver %s', async (_what, answer) => {
  resolved = answer;
  const before = lookups.length;
  await eventually('the name is resolved again', () => lookups.length > before + 2);
  expect(addresses()).toEqual(['127.0.0.2', '127.0.0.3']);
  expect((await servedBy(40)).size).toBe(2);
});

it('a closed forwarder resolves no more names', async () => {
  await forwarder.close(100);
  isOpen = false;
  const before = lookups.length;
  await new Promise((done) => setTimeout(done, 4 * RESOLVE_INTERVAL_MS));
  expect(lookups.length).toBe(before);
});
