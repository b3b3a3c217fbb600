/** Measures memory with idle connections, event streams and slow readers. Each function returns rows of the table. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPlain, requestText, WAYS } from './resources-ways.mjs';

/** Number of connections that are opened concurrently. */
const BATCH = 200;
/**
 * Time after which memory is read. The gateway closes idle connections after 65 s. Before that, within about 40 s, it
 * releases memory that a burst has left (decision 0028).
 */
const SETTLE_MS = 45_000;
const EVENTS_SECONDS = 10;
const READING_MS = 10_000;
/** Maximum number of bytes that a slow reader reads per `SIP_INTERVAL_MS`. */
const SIP_BYTES = 16 * 1024;
const SIP_INTERVAL_MS = 500;

const megabytes = (value) => `${value.toFixed(value < 10 ? 2 : 0)} MB`;

/** Opens connections in batches of `BATCH`. `open` resolves to an open connection. */
async function openMany(count, open) {
  const opened = [];
  for (let made = 0; made < count; made += BATCH) {
    opened.push(...(await Promise.all(Array.from({ length: Math.min(BATCH, count - made) }, open))));
  }
  return opened;
}

/**
 * Opens connections, sends one request on each, and measures memory while they are idle. Finally sends a request on
 * every tenth connection, to check that it is still open.
 */
async function holdIdle(gateway, way, count) {
  const open = async () => {
    const connection = await WAYS[way].open(gateway);
    await connection.ask();
    return connection;
  };
  await open();
  const begun = gateway.residentMegabytes();
  await sleep(SETTLE_MS);
  const before = gateway.residentMegabytes();
  const startedMs = performance.now();
  const connections = await openMany(count, open);
  const seconds = (performance.now() - startedMs) / 1_000;
  const burst = gateway.residentMegabytes();
  await sleep(SETTLE_MS);
  const held = gateway.residentMegabytes();
  const own = gateway.privateMegabytes();
  for (let index = 0; index < connections.length; index += 10) await connections[index].ask();
  for (const connection of connections) connection.destroy();
  return { begun, before, burst, held, own, seconds, each: `${(((held - before) * 1e3) / count).toFixed(1)} kB` };
}

/** Measures the gateway's memory with idle plain connections, and the growth per connection. */
export async function measureIdle(gateway, count) {
  const { begun, before, burst, held, own, seconds, each } = await holdIdle(gateway, 'plain', count);
  return [
    { what: heldBy('plain', count), figure: megabytes(held), aim: '< 250 MB' },
    { what: 'of that in pages that no other process shares', figure: megabytes(own) },
    { what: 'of that for each connection', figure: each },
    { what: 'at the instant when the last of them was answered', figure: megabytes(burst) },
    { what: 'to open them and answer each once', figure: `${seconds.toFixed(1)} s` },
    {
      what: `the gateway after its first request; ${SETTLE_MS / 1_000} s later`,
      figure: `${megabytes(begun)}; ${megabytes(before)}`,
    },
  ];
}

/** Measures the gateway's memory with idle connections over TLS or HTTP/2, as one row. */
export async function measureSecureIdle(gateway, way, count) {
  const { held, own, each, seconds } = await holdIdle(gateway, way, count);
  return [
    {
      what: `${heldBy(way, count)}; its own pages; for each; to open and ask them`,
      figure: [megabytes(held), megabytes(own), each, `${seconds.toFixed(1)} s`].join('; '),
    },
  ];
}

/** Measures the memory of one of Node's own servers with idle connections, as one row. */
export async function measureBareIdle(bare, way, count) {
  const { held, own, each } = await holdIdle(bare, way, count);
  return [
    {
      what: `for comparison: bare \`${WAYS[way].module}\` with as many idle connections; its own pages; for each`,
      figure: [megabytes(held), megabytes(own), each].join('; '),
    },
  ];
}

const heldBy = (way, count) =>
  `${count.toLocaleString('en')} idle ${WAYS[way].what}, each after one request, ${SETTLE_MS / 1_000} s later`;

async function askOnce(gateway) {
  const connection = await openPlain(gateway);
  await connection.ask();
}

/**
 * Measures memory and delay with open event streams, on which the backend sends an event per second. Each event
 * contains its send time. Rejects if a stream misses more than one event in ten seconds.
 */
export async function measureEvents(gateway, count) {
  await askOnce(gateway);
  const before = gateway.residentMegabytes();
  const delays = [];
  const received = new Map();
  const sockets = await openMany(count, async () => {
    const { socket } = await openPlain(gateway);
    socket.setEncoding('latin1');
    socket.write(requestText(gateway, 'events'));
    const [head] = await once(socket, 'data');
    if (!head.startsWith('HTTP/1.1 200')) throw new Error(`unexpected response instead of a stream: ${head}`);
    received.set(socket, 0);
    socket.on('data', (text) => {
      for (const [, sentMs] of text.matchAll(/data: ([\d.]+)\n/g)) {
        delays.push(performance.now() - Number(sentMs));
        received.set(socket, received.get(socket) + 1);
      }
    });
    return socket;
  });
  delays.length = 0;
  for (const socket of sockets) received.set(socket, 0);
  const { most } = await gateway.peakDuring(() => sleep(EVENTS_SECONDS * 1_000));
  const fewest = Math.min(...received.values());
  if (fewest < EVENTS_SECONDS - 1) throw new Error(`a stream received only ${fewest} events in ${EVENTS_SECONDS} s`);
  for (const socket of sockets) socket.destroy();
  delays.sort((a, b) => a - b);
  const at = (share) => `${delays[Math.floor(delays.length * share)].toFixed(0)} ms`;
  return [
    {
      what: `${count.toLocaleString('en')} streams of server-sent events, an event a second on each: the gateway holds`,
      figure: megabytes(most),
    },
    { what: 'of that for each stream', figure: `${(((most - before) * 1e6) / count / 1_000).toFixed(0)} kB` },
    {
      what: 'from the backend to the client, all events at the same instant: median, 99th percentile',
      figure: `${at(0.5)}, ${at(0.99)}`,
    },
  ];
}

/**
 * Measures the memory per slow reader of a 1 GiB response. Divides the growth with many readers by their number,
 * because the growth with one reader is smaller than the variation of the heap.
 */
export async function measureSlowReaders(gateway, count) {
  for (let time = 0; time < 10; time++) await askOnce(gateway);
  const before = gateway.residentMegabytes();
  let took = 0;
  const { most, result: sockets } = await gateway.peakDuring(async () => {
    const opened = await openMany(count, async () => {
      const { socket } = await openPlain(gateway);
      socket.pause();
      socket.write(requestText(gateway, 'large'));
      return socket;
    });
    const untilMs = performance.now() + READING_MS;
    while (performance.now() < untilMs) {
      for (const socket of opened) took += socket.read(Math.min(SIP_BYTES, socket.readableLength))?.length ?? 0;
      await sleep(SIP_INTERVAL_MS);
    }
    return opened;
  });
  const cut = sockets.filter(({ destroyed }) => destroyed).length;
  for (const socket of sockets) socket.destroy();
  if (cut > 0 || took < count * SIP_BYTES) throw new Error(`${cut} readers were disconnected, ${took} bytes were read`);
  return [
    {
      what: `a slow reader of a 1 GiB body holds (growth with ${count} of them, divided)`,
      figure: megabytes((most - before) / count),
      aim: '< 1 MB',
    },
  ];
}
