/**
 * What stands between a request and its response when the API wants to know again who asks: the request waits, a dialog
 * opens over the page, and what was typed there stays. One dialog serves all requests that wait.
 */

/** What is wanted: to sign in anew, or to show once more that it is the same person. */
export type GateKind = 'sign_in' | 'confirm';

export interface OpenGate {
  readonly kind: GateKind;
  /** How it can be shown, where the API says so. */
  readonly ways: readonly string[];
  /** Lets all who wait go on (true), or hands them the refusal (false). */
  settle(passed: boolean): void;
}

let open: OpenGate | null = null;
let waiting: Promise<boolean> | null = null;
let isArmed = false;
const listeners = new Set<() => void>();

const tell = (): void => {
  for (const listener of listeners) listener();
};

/** The gate that is open now, for `useSyncExternalStore`. */
export const currentGate = (): OpenGate | null => open;

export function onGate(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/**
 * From now on a session that ended opens the gate. Before somebody has signed in there is the sign-in page, and what
 * waits when they are gone is refused: the next one to sign in must not send it.
 */
export function armGate(armed: boolean): void {
  isArmed = armed;
  if (!armed) open?.settle(false);
}

/** Lets go on what waits for somebody to sign in: they have, be it in another tab or by a link. */
export function passSignIn(): void {
  if (open?.kind === 'sign_in') open.settle(true);
}

/** Waits until the gate is passed. @returns False where it was closed, or where there is nobody to ask. */
export function passGate(kind: GateKind, ways: readonly string[]): Promise<boolean> {
  if (!isArmed) return Promise.resolve(false);
  waiting ??= new Promise((resolve) => {
    const settle = (passed: boolean): void => {
      // Whoever has passed may say so late: the next gate is another one.
      if (open !== gate) return;
      open = null;
      waiting = null;
      tell();
      resolve(passed);
    };
    const gate: OpenGate = { kind, ways, settle };
    open = gate;
    tell();
  });
  return waiting;
}
