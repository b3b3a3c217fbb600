// Loaded into the program with `--import`: notes every time its event loop did not come round for some milliseconds of processor time. That
// other programs take the core does not count. Lines of `<Date.now()> <milliseconds>` in the file that the environment names.
import { openSync, writeSync } from 'node:fs';

const NOTED_MS = 3;

// Not in what the program starts itself: it serves nobody.
if (process.argv[1]?.endsWith('main.js') === true) {
  const file = openSync(process.env['TRAILGATE_TEST_TURNS'], 'a');
  const usedMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let before = usedMs();
  setInterval(() => {
    const now = usedMs();
    if (now - before > NOTED_MS) writeSync(file, `${Date.now()} ${now - before}\n`);
    before = now;
  }, 1).unref();
}
