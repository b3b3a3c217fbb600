/**
 * Delivers values that may arrive later through callbacks, on the request path. A promise would allocate three objects
 * and two functions, and take a microtask. Instead, an existing object of the caller receives the value.
 */

/**
 * Waiting receives a value or an error. Exactly one method is called, once, and never before the requesting call has
 * returned.
 */
export interface Waiting<Value> {
  answered(value: Value): void;
  failed(error: unknown): void;
}

/** Returns the value if it is available. Otherwise returns undefined, and calls `waiting` later. */
export function valueOrLater<Value>(value: Value | Promise<Value>, waiting: Waiting<Value>): Value | undefined {
  if (!(value instanceof Promise)) return value;
  value.then(
    (late) => waiting.answered(late),
    (error: unknown) => waiting.failed(error),
  );
  return undefined;
}

/**
 * Passes a value to one of several waiting callers. An error that the caller's method throws is rethrown in a
 * microtask, so that the others still get the value.
 */
export function tell<Value>(waiting: Waiting<Value>, value: Value): void {
  try {
    waiting.answered(value);
  } catch (error) {
    throwLater(error);
  }
}

/** Passes an error to one of several waiting callers. Handles errors of the caller's method like `tell`. */
export function deliverError(waiting: Waiting<never>, reason: unknown): void {
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

/** Promised adapts `Waiting` to a promise, which is created only if it is read. */
export class Promised<Value> implements Waiting<Value> {
  private resolvers: PromiseWithResolvers<Value> | undefined = undefined;

  /**
   * Returns the promise. Read it as soon as the requesting call has returned undefined. A result that arrives before
   * that is lost.
   */
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
