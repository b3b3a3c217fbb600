/**
 * Holds requests while the API requires a new sign-in or a confirmation. A dialog opens over the page, whose form
 * values stay. One dialog serves all waiting requests.
 */

/** Required action: sign in again, or confirm identity. */
export type GateKind = 'sign_in' | 'confirm';

export interface OpenGate {
  readonly kind: GateKind;
  /** Available methods, if the API names them. */
  readonly ways: readonly string[];
  /** Retries all waiting requests (true) or rejects them (false). */
  settle(passed: boolean): void;
}

let open: OpenGate | null = null;
let waiting: Promise<boolean> | null = null;
let isArmed = false;
const listeners = new Set<() => void>();

const notifyListeners = (): void => {
  for (const listener of listeners) listener();
};

/** Returns the open gate, for `useSyncExternalStore`. */
export const currentGate = (): OpenGate | null => open;

export function onGate(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/**
 * Arms or disarms the gate. Before sign-in it is off, because the sign-in page handles that. After sign-out, waiting
 * requests are rejected, so the next user never sends them.
 */
export function armGate(armed: boolean): void {
  isArmed = armed;
  if (!armed) open?.settle(false);
}

/** Releases requests that wait for sign-in. The sign-in can happen in another tab or through a link. */
export function passSignIn(): void {
  if (open?.kind === 'sign_in') open.settle(true);
}

/**
 * Waits until the gate is passed.
 * @returns false if the user closed it or it is not armed.
 */
export function passGate(kind: GateKind, ways: readonly string[]): Promise<boolean> {
  if (!isArmed) return Promise.resolve(false);
  waiting ??= new Promise((resolve) => {
    const settle = (passed: boolean): void => {
      // A late result of an earlier gate must not settle the current one.
      if (open !== gate) return;
      open = null;
      waiting = null;
      notifyListeners();
      resolve(passed);
    };
    const gate: OpenGate = { kind, ways, settle };
    open = gate;
    notifyListeners();
  });
  return waiting;
}
