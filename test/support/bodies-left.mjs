/**
 * Prints how many bytes of a request body young-generation collections move to the old generation: the lowest value of
 * five rounds. Runs in a separate process, because V8's behavior depends on everything that ran before.
 * Argument: path of the built `request-body.js`.
 */
import { PassThrough, Readable } from 'node:stream';
import { GCProfiler } from 'node:v8';

const [ROUNDS, BODIES] = [5, 10_000];
const { RequestBody } = await import(process.argv[2]);

async function readBody() {
  const stream = new Readable({ read() {}, highWaterMark: 1024 });
  const source = Object.assign(stream, { socket: new PassThrough(), complete: false });
  const body = new RequestBody(source, 1_000_000, () => {});
  source.push(null);
  for await (const chunk of body) void chunk;
  source.destroy();
}

const oldBytes = ({ heapSpaceStatistics: spaces }) =>
  spaces.find(({ spaceName }) => spaceName === 'old_space').spaceUsedSize;

async function measureRound() {
  const profiler = new GCProfiler();
  profiler.start();
  for (let done = 0; done < BODIES; done++) await readBody();
  const young = profiler.stop().statistics.filter(({ gcType }) => gcType === 'Scavenge');
  if (young.length < 2) throw new Error('too few collections');
  return young.reduce((sum, { beforeGC, afterGC }) => sum + oldBytes(afterGC) - oldBytes(beforeGC), 0) / BODIES;
}

for (let warm = 0; warm < 1_000; warm++) await readBody();
let lowest = Infinity;
for (let done = 0; done < ROUNDS; done++) lowest = Math.min(lowest, await measureRound());
console.log(lowest);
