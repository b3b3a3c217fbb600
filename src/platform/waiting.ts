/**
 * Who waits for an answer and is told by a call, not by a promise. For what happens with every request: a promise takes three objects,
 * two functions and a turn of the microtasks, and what waits is an object that is there anyway.
 */

/** Told once, by one of the two, and never before the call that asked has returned. */
export interface Waiting<Answer> {
  answered(answer: Answer): void;
  failed(error: unknown): void;
}

/** An answer that is there; undefined where it is not: `waiting` is told as soon as it is. */
export function nowOrTold<Answer>(answer: Answer | Promise<Answer>, waiting: Waiting<Answer>): Answer | undefined {
  if (!(answer instanceof Promise)) return answer;
  answer.then(
    (late) => waiting.answered(late),
    (error: unknown) => waiting.failed(error),
  );
  return undefined;
}

/** Tells one of many: what it throws is no business of the others, and ends the process as in a turn of its own. */
export function tell<Answer>(waiting: Waiting<Answer>, answer: Answer): void {
  try {
    waiting.answered(answer);
  } catch (error) {
    throwLater(error);
  }
}

/** Tells one of many that there is no answer, likewise. */
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
export class Promised<Answer> implements Waiting<Answer> {
  private resolvers: PromiseWithResolvers<Answer> | undefined = undefined;

  /** Of the answer. To be asked for as soon as it is known that there is none yet. */
  get promise(): Promise<Answer> {
    this.resolvers ??= Promise.withResolvers<Answer>();
    return this.resolvers.promise;
  }

  answered(answer: Answer): void {
    this.resolvers?.resolve(answer);
  }

  failed(error: unknown): void {
    this.resolvers?.reject(error);
  }
}
