/**
 * Prints how often V8 collects the old generation while the heap of an idle process grows. Runs in a separate process,
 * because V8's behavior depends on everything that the process did before.
 * Argument: `room` lets the heap grow more before a collection, as the program does.
 */
import path from 'node:path';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

const { leaveRoomToGrow, V8 } = await import(path.resolve('dist/program/machine/idle-memory.js'));

const OBJECTS = 400_000;
/** Growth of the heap, as a fraction of the objects held before. */
const GROWTH = 0.6;
const COLLECTIONS = 3;
const SETTLE_MS = 1_500;

const makeObjects = (count) => Array.from({ length: count }, (_, at) => ({ at, text: `${at}`, more: [at] }));

if (process.argv[2] === 'room') leaveRoomToGrow();
const held = [makeObjects(OBJECTS)];
for (let count = 0; count < COLLECTIONS; count++) {
  V8.beginCollection(true);
  await sleep(SETTLE_MS);
}
let collections = 0;
const observer = new PerformanceObserver((list) => {
  for (const { detail } of list.getEntries()) {
    if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections += 1;
  }
});
observer.observe({ entryTypes: ['gc'] });
for (let step = 0; step < 20; step++) {
  held.push(makeObjects((OBJECTS * GROWTH) / 20));
  await sleep(50);
}
await sleep(SETTLE_MS);
observer.disconnect();
console.log(JSON.stringify({ held: held.flat().length / OBJECTS, collections }));
