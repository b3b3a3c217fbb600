/** A call of one of the scripts, as the counting process carries it out. */
import { errorReply } from '../../stores/redis/server/replies.js';
import type { PeriodLabels } from '../model/counter.js';
import type { CountingTables } from './counting-tables.js';

/** The reply while nodes have yet to hand in what was counted before: plans decide, and nobody is told too little. */
export const NOT_YET = errorReply('AWAITING workers have to hand in first what was counted before');

/** ScriptCall is what a script is called with. Keys, arguments and replies are those of the Lua of the same name. */
export interface ScriptCall {
  readonly tables: CountingTables;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** The clock that is counted by, µs: each call has an instant of its own. */
  readonly nowUs: number;
}

/** Carries out a call, and returns what is written back. */
export type ScriptRun = (call: ScriptCall) => string;

/** The second of a call. */
export function secondOf({ nowUs }: ScriptCall): number {
  return Math.floor(nowUs / 1_000_000);
}

/** The whole millisecond of a call. */
export function millisecondOf({ nowUs }: ScriptCall): number {
  return Math.floor(nowUs / 1_000);
}

/** The argument at a place, as a number. */
export function numberAt({ args }: ScriptCall, at: number): number {
  return Number(args[at]);
}

/** The labels of a period in three arguments: of its month, of the month after it, of its day. */
export function labelsAt({ args }: ScriptCall, at: number): PeriodLabels {
  return { label: Number(args[at]), following: Number(args[at + 1]), day: { label: Number(args[at + 2]) } };
}

/** The node in the name of a marker: its last part. */
export function nodeIn(name: string): string {
  return name.slice(name.lastIndexOf(':') + 1);
}
