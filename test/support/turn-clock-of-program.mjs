// Loaded into the program with `--import`: its wall clock says what the test wrote into a file, two float64: an instant at which time
// stands still (NaN: it runs), and milliseconds that the clock is ahead of the machine's.
import { openSync, readSync } from 'node:fs';

const file = openSync(process.env['TRAILGATE_TEST_CLOCK'], 'r');
const values = new Float64Array(2);
const bytes = new Uint8Array(values.buffer);
const machine = Date.now;

Date.now = () => {
  readSync(file, bytes, 0, 16, 0);
  return Number.isNaN(values[0]) ? machine() + values[1] : values[0];
};
