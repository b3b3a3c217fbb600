/**
 * Replaces the wall clock (`Date.now`) of the program, which loads this module with `--import`. The test writes two
 * float64 numbers into the file `TRAILGATE_TEST_CLOCK`. The first is the time at which the clock stands still, in ms,
 * or NaN for a running clock. The second is how far a running clock is ahead of the machine's clock, in ms.
 */
import { openSync, readSync } from 'node:fs';

const file = openSync(process.env['TRAILGATE_TEST_CLOCK'], 'r');
const values = new Float64Array(2);
const bytes = new Uint8Array(values.buffer);
const machineNow = Date.now;

Date.now = () => {
  readSync(file, bytes, 0, 16, 0);
  return Number.isNaN(values[0]) ? machineNow() + values[1] : values[0];
};
