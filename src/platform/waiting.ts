/**
 * Who waits for a value and is told by a call, not by a promise. For what happens with every request: a promise takes
 * three objects, two functions and a turn of the microtasks, and what waits is an object that is there anyway.
 */

/** Told once, by one of the two, and never before the call that asked has returned. */
export interface Waiting<Value> {
  answered(value: Value): void;
  failed(error: unknown): void;
}

/** A value that is there; undefined where it is not: `waiting` is told as soon as it is. */
export function nowOrTold<Value>(value: Value | Promise<Value>, waiting: Waiting<Value>): Value | undefined {
  if (!(value instanceof Promise)) return value;
  value.then(
    (late) => waiting.answered(late),
    (error: unknown) => waiting.failed(error),
  );
  return undefined;
}

/** Tells one of many: what it throws is no business of the others, and ends the process as in a turn of its own. */
export function tell<Value>(waiting: Waiting<Value>, value: Value): void {
  try {
    waiting.answered(value);
  } catch (error) {
    throwLater(error);
  }
}

/** Tells one of many that there is no value, likewise. */
export function tellFailed(waiting: Waiting<never>, reason: unknown): void {
  try {
    waiting.failed(reason);
  } catch (error) {
    throwLater(error);
  }
}

function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/** For who would rather have a promise: it is made only where there is something to wait for. */
export class Promised<Value> implements Waiting<Value> {
  private resolvers: PromiseWithResolvers<Value> | undefined = undefined;

  /** Of the value. To be asked for as soon as it is known that there is none yet. */
  get promise(): Promise<Value> {
    this.resolvers ??= Promise.withResolvers<Value>();
    return this.resolvers.promise;
  }

  answered(value: Value): void {
    this.resolvers?.resolve(value);
  }

  failed(error: unknown): void {
    this.resolvers?.reject(error);
  }
}
