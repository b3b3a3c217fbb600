/**
 * `npm run bench:resources`: what the gateway holds for those who stay: idle connections, streams of events, slow readers of a large
 * body. Measures the built program in a process of its own, over real sockets, and prints one table.
 */
import { parseArgs } from 'node:util';
import { makeCertificate } from './certificate.mjs';
import { buildTrailgate } from './install.mjs';
import { commit, machineFacts } from './machine.mjs';
import { cleanUpOnExit, stopAll } from './processes.mjs';
import { replaceInDocs } from './report.mjs';
import { startStreamingBackend } from './streaming-backend.mjs';
import { startBare, startHolder } from './resources-gateway.mjs';
import {
  measureBareIdle,
  measureEvents,
  measureIdle,
  measureSecureIdle,
  measureSlowReaders,
} from './resources-parts.mjs';

const BEGIN = '<!-- resources: written by `npm run bench:resources -- --write-docs` -->';
const END = '<!-- end of resources -->';

const HELP = `npm run bench:resources -- [options]
  --idle N           idle connections (10000), and as many over TLS
  --http2 N          idle connections of HTTP/2 (1000)
  --streams N        streams of server-sent events (1000)
  --readers N        slow readers of 1 GiB at once (100)
  --no-build         measure dist/ as it stands
  --write-docs       put the table into docs/benchmarks.md

Needs as many open files as connections: \`ulimit -n\`.`;

function readArguments() {
  const { values } = parseArgs({
    options: {
      idle: { type: 'string', default: '10000' },
      http2: { type: 'string', default: '1000' },
      streams: { type: 'string', default: '1000' },
      readers: { type: 'string', default: '100' },
      'no-build': { type: 'boolean', default: false },
      'write-docs': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const number = (name, most) => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < 1 || value > most) throw new Error(`--${name} must be from 1 to ${most}`);
    return value;
  };
  return {
    ...values,
    idle: number('idle', 20_000),
    http2: number('http2', 20_000),
    streams: number('streams', 5_000),
    readers: number('readers', 1_000),
  };
}

/** Rows as Markdown. @param rows {what, figure, aim} */
function table(rows) {
  const lines = rows.map(({ what, figure, aim = '–' }) => `| ${what} | ${figure} | ${aim} |`);
  return ['| what | measured | aim |', '| --- | ---: | ---: |', ...lines].join('\n');
}

const options = readArguments();
if (options.help) {
  console.log(HELP);
} else {
  cleanUpOnExit();
  if (!options['no-build']) buildTrailgate();
  const { cpu, cores, memoryGigabytes, kernel, versions } = machineFacts();
  const backend = await startStreamingBackend();
  try {
    const rows = [];
    const tls = makeCertificate();
    const secure = { tls: options.idle, http2: options.http2 };
    // Each in a gateway of its own: what one leaves behind in the heap must not count for the next.
    const parts = [
      { measure: (gateway) => measureIdle(gateway, options.idle) },
      ...Object.entries(secure).map(([way, count]) => ({
        tls,
        measure: (gateway) => measureSecureIdle(gateway, way, count),
      })),
      { measure: (gateway) => measureEvents(gateway, options.streams) },
      { measure: (gateway) => measureSlowReaders(gateway, options.readers) },
    ];
    for (const part of parts) {
      const gateway = await startHolder(`gateway-${rows.length}`, backend.url, part.tls);
      rows.push(...(await part.measure(gateway)));
      await gateway.stop();
    }
    for (const [way, count] of Object.entries({ plain: options.idle, ...secure })) {
      const bare = await startBare(way, way === 'plain' ? undefined : tls);
      rows.push(...(await measureBareIdle(bare, way, count)));
      await bare.stop();
    }
    const head = `Commit ${commit()}; ${cpu}, ${cores} cores, ${memoryGigabytes} GB, Linux ${kernel}; Node ${versions.node}.`;
    const text = `${head}\n\n${table(rows)}`;
    console.log(`\n${text}`);
    if (options['write-docs']) replaceInDocs(BEGIN, END, text);
  } finally {
    backend.stop();
    await stopAll();
  }
}
