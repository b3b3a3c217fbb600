/**
 * Prints how often V8 collects the old generation while a process that was quiet begins to hold more. A process of its own, because V8
 * goes by all that a process has done before. `room` as argument: with room to grow, as the program asks for it.
 */
import path from 'node:path';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

const { leaveRoomToGrow, V8 } = await import(path.resolve('dist/program/machine/idle-memory.js'));

const OBJECTS = 400_000;
/** Of what is held, that many more. */
const GROWTH = 0.6;
const COLLECTIONS = 3;
const SETTLE_MS = 1_500;

const made = (count) => Array.from({ length: count }, (_, at) => ({ at, text: `${at}`, more: [at] }));

if (process.argv[2] === 'room') leaveRoomToGrow();
const held = [made(OBJECTS)];
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
  held.push(made((OBJECTS * GROWTH) / 20));
  await sleep(50);
}
await sleep(SETTLE_MS);
observer.disconnect();
console.log(JSON.stringify({ held: held.flat().length / OBJECTS, collections }));
