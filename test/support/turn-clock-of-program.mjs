/**
 * Replaces the wall clock (`Date.now`) of the program, which loads this module with `--import`. The test writes two
 * float64 numbers into a file: a fixed time in ms, or NaN for a running clock; and how far it is ahead of the machine's
 * clock, in ms.
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
