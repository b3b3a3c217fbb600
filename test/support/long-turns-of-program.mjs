// Loaded into the program with `--import`. Records turns of the event loop that use more than a few milliseconds of CPU
// time. Time in which other processes use the CPU does not count.
// Writes lines of `<Date.now()> <milliseconds>` to the file in TRAILGATE_TEST_TURNS.
import { openSync, writeSync } from 'node:fs';

const MIN_RECORDED_MS = 3;

// Skip child processes of the program, because they serve no requests.
if (process.argv[1]?.endsWith('main.js') === true) {
  const file = openSync(process.env['TRAILGATE_TEST_TURNS'], 'a');
  const cpuTimeMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let before = cpuTimeMs();
  setInterval(() => {
    const now = cpuTimeMs();
    if (now - before > MIN_RECORDED_MS) writeSync(file, `${Date.now()} ${now - before}\n`);
    before = now;
  }, 1).unref();
}
