/**
 * `npm run bench:resources`: measures the gateway's memory for long-lived clients: idle connections, event streams, and
 * slow readers of a large body. Starts the built program in a separate process, and prints one table.
 */
import { makeCertificate } from './certificate.mjs';
import { commit, machineFacts } from './machine.mjs';
import { figuresTable } from './report.mjs';
import { startStreamingBackend } from './streaming-backend.mjs';
import { startBare, startGateway } from './resources-gateway.mjs';
import {
  measureBareIdle,
  measureEvents,
  measureIdle,
  measureSecureIdle,
  measureSlowReaders,
} from './resources-parts.mjs';

export const options = {
  idle: { takes: 'N', about: 'idle connections, and as many over TLS', normal: 10_000, most: 20_000 },
  http2: { takes: 'N', about: 'idle connections of HTTP/2', normal: 1_000, most: 20_000 },
  streams: { takes: 'N', about: 'streams of server-sent events', normal: 1_000, most: 5_000 },
  readers: { takes: 'N', about: 'slow readers of 1 GiB at once', normal: 100, most: 1_000 },
};
export const note = 'Needs as many open files as connections: `ulimit -n`.';

/**
 * Measures each group of clients with a new gateway.
 * @returns the table as Markdown
 */
export async function measure(given) {
  const { cpu, cores, memoryGigabytes, kernel, versions } = machineFacts();
  const backend = await startStreamingBackend();
  try {
    const rows = [];
    const tls = makeCertificate();
    const secure = { tls: given.idle, http2: given.http2 };
    // Each part has a new gateway, because the previous part leaves garbage in the heap.
    const parts = [
      { measure: (gateway) => measureIdle(gateway, given.idle) },
      ...Object.entries(secure).map(([way, count]) => ({
        tls,
        measure: (gateway) => measureSecureIdle(gateway, way, count),
      })),
      { measure: (gateway) => measureEvents(gateway, given.streams) },
      { measure: (gateway) => measureSlowReaders(gateway, given.readers) },
    ];
    for (const part of parts) {
      const gateway = await startGateway(`gateway-${rows.length}`, backend.url, part.tls);
      rows.push(...(await part.measure(gateway)));
      await gateway.stop();
    }
    for (const [way, count] of Object.entries({ plain: given.idle, ...secure })) {
      const bare = await startBare(way, way === 'plain' ? undefined : tls);
      rows.push(...(await measureBareIdle(bare, way, count)));
      await bare.stop();
    }
    const head = `Commit ${commit()}; ${cpu}, ${cores} cores, ${memoryGigabytes} GB, Linux ${kernel}; Node ${versions.node}.`;
    return `${head}\n\n${figuresTable(rows)}`;
  } finally {
    backend.stop();
  }
}
