/**
 * Load 9: requests over plain HTTP, TLS and HTTP/2, and with bodies in both directions. Compares each with the nginx +
 * Lua peer of `npm run bench` under the same load.
 */
import path from 'node:path';
import { startBackend } from '../backend.mjs';
import { makeCertificate } from '../certificate.mjs';
import { makePeerKeys, SCOPE } from '../keys.mjs';
import { startNginxLua } from '../peers.mjs';
import { PLAIN_REQUEST } from '../load.mjs';
import { backendOf, received, writeBodies } from './bodies.mjs';
import { fixed, medianOf, notesOf, tableOf, whole } from './report.mjs';
import { measureRows } from './rounds.mjs';
import { openScene } from './scene.mjs';

const KILO = 1_024;
const HTTP2 = { connections: 16, streams: 4 };

export const title = 'Ways';

export async function measure(settings) {
  const folder = writeBodies({ '1k': KILO, '16k': 16 * KILO, '100k': 100 * KILO });
  const tls = makeCertificate();
  const operation = (match) => ({ match, service: 'customers', scopes: [SCOPE] });
  const operations = ['GET /bodies/{name}', 'POST /bodies'].map(operation);
  const plain = await openScene({ name: 'ways-plain', operations, backend: backendOf(folder) });
  const secure = await openScene({ name: 'ways-tls', operations, backend: backendOf(folder), gateway: { tls } });
  const backend = await startBackend('ways-peer', backendOf(folder));
  const nginx = await startNginxLua({ backend, keys: makePeerKeys(), tls }, 'redis_each');
  const peer = { ...nginx, id: 'ways-nginx', limits: true, backend };
  const securePeer = { ...peer, url: nginx.tlsUrl };
  const post = (name, size) => ({
    path: '/api/v1/bodies',
    method: 'POST',
    bodyFile: path.join(folder, name),
    ...received(size),
  });
  const large = { path: '/api/v1/bodies/100k', length: 100 * KILO };
  const ways = [
    { title: '`GET`, plain', over: [plain, peer], request: PLAIN_REQUEST },
    { title: '`GET` over TLS', over: [secure, securePeer], request: PLAIN_REQUEST },
    {
      title: '`GET` over HTTP/2, 16 connections of 4 streams',
      over: [secure, securePeer],
      connections: HTTP2.connections,
      request: { ...PLAIN_REQUEST, streams: HTTP2.streams },
    },
    { title: '`POST` of 1 KB', over: [plain, peer], request: post('1k', KILO) },
    { title: '`POST` of 1 KB over TLS', over: [secure, securePeer], request: post('1k', KILO) },
    { title: '`POST` of 16 KB', over: [plain, peer], request: post('16k', 16 * KILO) },
    { title: '`GET`, answer of 100 KB', over: [plain, peer], request: large },
    { title: '`GET` over TLS, answer of 100 KB', over: [secure, securePeer], request: large },
  ];
  const chosen = ways.filter(({ title: name }) => settings.way === undefined || name.includes(settings.way));
  if (chosen.length === 0) throw new Error(`--way: no title contains "${settings.way}"`);
  const rows = chosen.flatMap(({ over, ...way }) =>
    over.map((gateway, index) => ({ ...way, id: `${way.title}, ${index === 0 ? 'Trailgate' : 'peer'}`, gateway })),
  );
  const summaries = await measureRows(rows, settings);
  return {
    rows: summaries.map((row, index) => ({ ...row, peer: summaries[index + 1] })).filter((_, i) => i % 2 === 0),
  };
}

export function table({ rows }) {
  const ratio = (own, other) => (own === undefined || other === undefined ? '–' : fixed(own / other, 2));
  const columns = {
    'CPU µs/request, lowest': (row) => fixed(row.lowestCpu),
    'of nginx + Lua': (row) => ratio(row.lowestCpu, row.peer.lowestCpu),
    median: medianOf('cpuMicroseconds'),
    'of its median': (row) => ratio(row.medians.cpuMicroseconds, row.peer.medians.cpuMicroseconds),
    'instructions/request': (row) => whole(row.medians.instructions),
    'of its': (row) => ratio(row.medians.instructions, row.peer.medians.instructions),
    'requests/s': (row) => whole(row.medians.requestsPerSecond),
    'p99 ms': medianOf('p99', 2),
    'its p99': (row) => fixed(row.peer.medians.p99, 2),
  };
  return [tableOf('way', rows, columns), ...notesOf(rows.flatMap((row) => [row, row.peer]))].join('\n\n');
}
