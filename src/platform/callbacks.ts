/**
 * Delivers values that may arrive later through callbacks, on the request path. A promise would allocate three objects
 * and two functions, and take a microtask. Instead, an existing object of the caller receives the value.
 */

/**
 * ResultReceiver receives a value or an error. Exactly one method is called, once, and never before the requesting call
 * has returned.
 */
export interface ResultReceiver<Value> {
  onResult(value: Value): void;
  onError(error: unknown): void;
}

/** Returns the value if it is available. Otherwise returns undefined, and calls `waiting` later. */
export function valueOrLater<Value>(value: Value | Promise<Value>, waiting: ResultReceiver<Value>): Value | undefined {
  if (!(value instanceof Promise)) return value;
  value.then(
    (late) => waiting.onResult(late),
    (error: unknown) => waiting.onError(error),
  );
  return undefined;
}

/**
 * Passes a value to one of several waiting callers. An error that the caller's method throws is rethrown in a
 * microtask, so that the others still get the value.
 */
export function deliverValue<Value>(waiting: ResultReceiver<Value>, value: Value): void {
  try {
    waiting.onResult(value);
  } catch (error) {
    throwLater(error);
  }
}

/** Passes an error to one of several waiting callers. Handles errors of the caller's method like `tell`. */
export function deliverError(waiting: ResultReceiver<never>, reason: unknown): void {
  try {
    waiting.onError(reason);
  } catch (error) {
    throwLater(error);
  }
}

function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/** PromiseReceiver adapts `ResultReceiver` to a promise, which is created only if it is read. */
export class PromiseReceiver<Value> implements ResultReceiver<Value> {
  private resolvers: PromiseWithResolvers<Value> | undefined = undefined;

  /**
   * Returns the promise. Read it as soon as the requesting call has returned undefined. A result that arrives before
   * that is lost.
   */
  get promise(): Promise<Value> {
    this.resolvers ??= Promise.withResolvers<Value>();
    return this.resolvers.promise;
  }

  onResult(value: Value): void {
    this.resolvers?.resolve(value);
  }

  onError(error: unknown): void {
    this.resolvers?.reject(error);
  }
}
