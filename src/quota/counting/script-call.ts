/** Defines a call of a script in the counting process, and parses the call's arguments. */
import { errorReply } from '../../stores/redis/server/replies.js';
import type { PeriodLabels } from '../model/counter.js';
import type { CountingTables } from './counting-tables.js';

/**
 * Reply while nodes still have to report earlier counts. Gateways then decide by `onRedisLoss`, so that no decision
 * uses counts that are too low.
 */
export const NOT_YET = errorReply('AWAITING workers must report earlier counts first');

/**
 * ScriptCall holds the arguments of a script call. Keys, arguments and replies are those of the Lua script with the
 * same name.
 */
export interface ScriptCall {
  readonly tables: CountingTables;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** Time of the call, in µs, by the clock of all counters. Each call has its own instant. */
  readonly nowUs: number;
}

/** ScriptRun runs a call and returns the reply. */
export type ScriptRun = (call: ScriptCall) => string;

/** Returns the time of a call in whole seconds. */
export function secondOf({ nowUs }: ScriptCall): number {
  return Math.floor(nowUs / 1_000_000);
}

/** Returns the time of a call in whole milliseconds. */
export function millisecondOf({ nowUs }: ScriptCall): number {
  return Math.floor(nowUs / 1_000);
}

/** Returns the argument at a position as a number. */
export function numberAt({ args }: ScriptCall, at: number): number {
  return Number(args[at]);
}

/** Parses the labels of a period from three arguments: month, next month, day. */
export function labelsAt({ args }: ScriptCall, at: number): PeriodLabels {
  return { label: Number(args[at]), following: Number(args[at + 1]), day: { label: Number(args[at + 2]) } };
}

/** Returns the node's name in the name of a marker: the part after the last colon. */
export function nodeIn(name: string): string {
  return name.slice(name.lastIndexOf(':') + 1);
}
