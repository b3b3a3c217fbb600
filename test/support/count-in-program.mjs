// Loaded into the program with `--import`. Serves a Unix socket, on which a test asks for counts of the main thread:
// heap allocations, async resources and event loop turns.
// Requests and replies are JSON, one value per line. Only V8 and libuv count before a test asks.
import { createHook } from 'node:async_hooks';
import { Session } from 'node:inspector/promises';
import { createServer } from 'node:net';
import { GCProfiler, getHeapStatistics } from 'node:v8';
import { isMainThread } from 'node:worker_threads';

const FRAMES = 12;
const SHOWN_FRAMES = 3;
const SAMPLE_BYTES = 4_096;

let made = {};
let creators;

const hook = createHook({
  init(_id, type) {
    made[type] = (made[type] ?? 0) + 1;
    if (creators === undefined) return;
    const creator = `${type}: ${callers().join(' < ')}`;
    creators.set(creator, (creators.get(creator) ?? 0) + 1);
  },
});

/** Returns the innermost stack frames outside of Node, or inside of Node if there are no others. */
function callers() {
  const at = {};
  Error.captureStackTrace(at, callers);
  const frames = at.stack
    .split('\n')
    .slice(1)
    .map((line) => line.replace(/^\s*at (?:async )?/, '').replace(/file:\/\/|\/.*\/(?=node_modules|src\/|dist\/)/g, ''))
    .filter((frame) => !/async_hooks|count-in-program/.test(frame));
  const outside = frames.filter((frame) => !/node:|<anonymous>\)$/.test(frame));
  return (outside.length === 0 ? frames : outside).slice(0, SHOWN_FRAMES);
}

let session;
let profiler;

/** Counts the young-generation collections, and the bytes that they moved to the old generation. */
function promotedBy(statistics) {
  const old = ({ heapSpaceStatistics }) =>
    heapSpaceStatistics.find(({ spaceName }) => spaceName === 'old_space').spaceUsedSize;
  const scavenges = statistics.filter(({ gcType }) => gcType === 'Scavenge');
  const bytes = scavenges.reduce((sum, { beforeGC, afterGC }) => sum + old(afterGC) - old(beforeGC), 0);
  return { scavenges: scavenges.length, bytes };
}

/** Returns the bytes that each function itself allocated, including memory that was freed since. */
function allocatedBy({ head }) {
  const bytes = {};
  const add = ({ callFrame, selfSize, children }) => {
    const where = callFrame.url.replace(/^.*\/(?=node_modules|dist\/)/, '');
    const name = `${callFrame.functionName || '(anonymous)'} (${where}:${callFrame.lineNumber + 1})`;
    bytes[name] = (bytes[name] ?? 0) + selfSize;
    for (const child of children) add(child);
  };
  add(head);
  return bytes;
}

const commands = {
  read: () => ({
    bytes: getHeapStatistics().total_allocated_bytes,
    turns: performance.nodeTiming.uvMetricsInfo.loopCount,
  }),
  watch({ withMakers }) {
    made = {};
    creators = withMakers ? new Map() : undefined;
    Error.stackTraceLimit = FRAMES;
    hook.enable();
    return {};
  },
  unwatch() {
    hook.disable();
    return { made, makers: Object.fromEntries(creators ?? []) };
  },
  profile() {
    profiler = new GCProfiler();
    profiler.start();
    return {};
  },
  profiled: () => promotedBy(profiler.stop().statistics),
  async sample() {
    session = new Session();
    session.connect();
    const all = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
    await session.post('HeapProfiler.startSampling', { samplingInterval: SAMPLE_BYTES, ...all });
    return {};
  },
  async sampled() {
    const { profile } = await session.post('HeapProfiler.stopSampling');
    session.disconnect();
    return allocatedBy(profile);
  },
};

function serve(socket) {
  socket.setEncoding('utf8');
  socket.on('data', async (line) => {
    const { command, ...options } = JSON.parse(line);
    socket.write(`${JSON.stringify(await commands[command](options))}\n`);
  });
}

// Other threads, such as SQLite's, load this module too. Only the main thread serves the socket.
if (isMainThread) createServer(serve).listen(process.env['TRAILGATE_TEST_COUNTS']).unref();
