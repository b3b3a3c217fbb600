/** What is measured: idle connections, streams of events, slow readers. Each ends with rows of the table, or with an error. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPlain, requestText, WAYS } from './resources-ways.mjs';

/** Connections that are opened at the same time. */
const BATCH = 200;
/** Shorter than the time after which an idle connection is closed; the gateway gives back what a burst has left within 40 s. */
const SETTLE_MS = 45_000;
const EVENTS_SECONDS = 10;
const READING_MS = 10_000;
/** Each slow reader takes this much, this often. */
const SIP_BYTES = 16 * 1024;
const SIP_INTERVAL_MS = 500;

const megabytes = (value) => `${value.toFixed(value < 10 ? 2 : 0)} MB`;

/** Opens in batches; `open` makes one, which is in place when it resolves. */
async function openMany(count, open) {
  const opened = [];
  for (let made = 0; made < count; made += BATCH) {
    opened.push(...(await Promise.all(Array.from({ length: Math.min(BATCH, count - made) }, open))));
  }
  return opened;
}

/** Connections that have had one answer and keep quiet; each tenth is asked once more in the end. */
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
  const own = gateway.ownMegabytes();
  for (let index = 0; index < connections.length; index += 10) await connections[index].ask();
  for (const connection of connections) connection.destroy();
  return { begun, before, burst, held, own, seconds, each: `${(((held - before) * 1e3) / count).toFixed(1)} kB` };
}

/** What connections hold, and how much that is above the gateway without them. */
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

/** The same over TLS or HTTP/2, in short. */
export async function measureSecureIdle(gateway, way, count) {
  const { held, own, each, seconds } = await holdIdle(gateway, way, count);
  return [
    {
      what: `${heldBy(way, count)}; its own pages; for each; to open and ask them`,
      figure: [megabytes(held), megabytes(own), each, `${seconds.toFixed(1)} s`].join('; '),
    },
  ];
}

/** The same of a server that does nothing. */
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

/** Streams that get an event a second for ten seconds: none may be missing, and each knows when it was sent. */
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
    if (!head.startsWith('HTTP/1.1 200')) throw new Error(`a stream that is none: ${head}`);
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
  const { most } = await gateway.mostWhile(() => sleep(EVENTS_SECONDS * 1_000));
  const fewest = Math.min(...received.values());
  if (fewest < EVENTS_SECONDS - 1) throw new Error(`a stream got ${fewest} events in ${EVENTS_SECONDS} s`);
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

/** Clients that sip at 1 GiB: the growth of many, divided by their number, because that of one is lost in the noise of the heap. */
export async function measureSlowReaders(gateway, count) {
  for (let time = 0; time < 10; time++) await askOnce(gateway);
  const before = gateway.residentMegabytes();
  let took = 0;
  const { most, result: sockets } = await gateway.mostWhile(async () => {
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
  if (cut > 0 || took < count * SIP_BYTES) throw new Error(`${cut} readers were cut, ${took} bytes were read`);
  return [
    {
      what: `a slow reader of a 1 GiB body holds (growth with ${count} of them, divided)`,
      figure: megabytes((most - before) / count),
      aim: '< 1 MB',
    },
  ];
}
