/**
 * `npm run bench:resources`: what the gateway holds for those who stay: idle connections, streams of events, slow readers of a large
 * body. Measures the built program in a process of its own, over real sockets, and prints one table.
 */
import { parseArgs } from 'node:util';
import { buildTrailgate } from './install.mjs';
import { commit, machineFacts } from './machine.mjs';
import { cleanUpOnExit, stopAll } from './processes.mjs';
import { replaceInDocs } from './report.mjs';
import { startStreamingBackend } from './streaming-backend.mjs';
import { startBare, startHolder } from './resources-gateway.mjs';
import { measureBare, measureEvents, measureIdle, measureSlowReaders } from './resources-parts.mjs';

const BEGIN = '<!-- resources: written by `npm run bench:resources -- --write-docs` -->';
const END = '<!-- end of resources -->';

const HELP = `npm run bench:resources -- [options]
  --idle N           idle connections (10000)
  --streams N        streams of server-sent events (1000)
  --readers N        slow readers of 1 GiB at once (100)
  --no-build         measure dist/ as it stands
  --write-docs       put the table into docs/benchmarks.md

Needs as many open files as connections: \`ulimit -n\`.`;

function readArguments() {
  const { values } = parseArgs({
    options: {
      idle: { type: 'string', default: '10000' },
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
    // Each in a gateway of its own: what one leaves behind in the heap must not count for the next.
    for (const [measure, count] of [
      [measureIdle, options.idle],
      [measureEvents, options.streams],
      [measureSlowReaders, options.readers],
    ]) {
      const gateway = await startHolder(`gateway-${rows.length}`, backend.url);
      rows.push(...(await measure(gateway, count)));
      await gateway.stop();
    }
    const bare = await startBare();
    rows.push(...(await measureBare(bare, options.idle)));
    await bare.stop();
    const head = `Commit ${commit()}; ${cpu}, ${cores} cores, ${memoryGigabytes} GB, Linux ${kernel}; Node ${versions.node}.`;
    const text = `${head}\n\n${table(rows)}`;
    console.log(`\n${text}`);
    if (options['write-docs']) replaceInDocs(BEGIN, END, text);
  } finally {
    backend.stop();
    await stopAll();
  }
}
