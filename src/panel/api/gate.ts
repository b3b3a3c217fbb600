/**
 * Holds requests while the API requires a new sign-in or a confirmation. A dialog (the gate) opens over the page, so
 * form values are not lost. One dialog serves all waiting requests.
 */

/** Action that the user must take: sign in again, or confirm their identity. */
export type GateKind = 'sign_in' | 'confirm';

/** The gate that is open now. */
export interface OpenGate {
  readonly kind: GateKind;
  /** Methods to confirm with, as the API names them. Empty if the API names none. */
  readonly ways: readonly string[];
  /** Closes the gate. True: all waiting requests are retried. False: they end with their original error. */
  settle(passed: boolean): void;
}

let openGate: OpenGate | null = null;
let gateResult: Promise<boolean> | null = null;
let isArmed = false;
const listeners = new Set<() => void>();

const notifyListeners = (): void => {
  for (const listener of listeners) listener();
};

/** Returns the open gate, for `useSyncExternalStore`. Null if no gate is open. */
export const currentGate = (): OpenGate | null => openGate;

/** Calls the listener whenever a gate opens or closes. Returns a function that removes the listener. */
export function onGate(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/**
 * Arms or disarms the gate. The gate is disarmed before sign-in, because the sign-in page is shown then. Disarming it
 * at sign-out ends waiting requests with their error, so the next user never sends them.
 */
export function armGate(armed: boolean): void {
  isArmed = armed;
  if (!armed) openGate?.settle(false);
}

/** Retries requests that wait for a sign-in. Call after any sign-in, for example in another tab or through a link. */
export function passSignIn(): void {
  if (openGate?.kind === 'sign_in') openGate.settle(true);
}

/**
 * Opens the gate and waits until it is closed. If a gate is already open, waits for that one, whatever its kind.
 * @returns true if the request can be retried; false if the user closed the gate, or it is not armed.
 */
export function passGate(kind: GateKind, ways: readonly string[]): Promise<boolean> {
  if (!isArmed) return Promise.resolve(false);
  gateResult ??= new Promise((resolve) => {
    const settle = (passed: boolean): void => {
      // A late result of an earlier gate must not settle the current one.
      if (openGate !== gate) return;
      openGate = null;
      gateResult = null;
      notifyListeners();
      resolve(passed);
    };
    const gate: OpenGate = { kind, ways, settle };
    openGate = gate;
    notifyListeners();
  });
  return gateResult;
}
