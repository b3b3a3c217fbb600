/**
 * Holds requests while the API requires a new sign-in or a confirmation. A dialog (the gate) opens over the page, so
 * that form values are not lost. One dialog serves all waiting requests.
 */

/** Action that the user must take: sign in again (`sign_in`), or confirm their identity (`confirm`). */
export type GateKind = 'sign_in' | 'confirm';

/** OpenGate is the gate that is open now. The gate dialog shows and settles it. */
export interface OpenGate {
  readonly kind: GateKind;
  /** Confirmation methods as the API names them, such as `passkey`. Empty if the API names none. */
  readonly methods: readonly string[];
  /**
   * Closes the gate. If `passed` is true, all waiting requests are sent again. Otherwise, they end with their original
   * errors.
   */
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
 * Arms or disarms the gate. While the gate is disarmed, requests fail with their original errors. Disarm the gate
 * before sign-in, and at sign-out, so that the next user never sends the waiting requests.
 */
export function armGate(armed: boolean): void {
  isArmed = armed;
  if (!armed) openGate?.settle(false);
}

/**
 * Closes an open sign-in gate, so that the waiting requests are sent again. Call this function after any sign-in, for
 * example in another tab or through a link.
 */
export function passSignIn(): void {
  if (openGate?.kind === 'sign_in') openGate.settle(true);
}

/**
 * Opens the gate and waits until the user closes the dialog. If a gate is already open, waits for that gate, whatever
 * its kind.
 * @returns true if the request can be sent again; false if the user closed the gate, or the gate is not armed.
 */
export function passGate(kind: GateKind, methods: readonly string[]): Promise<boolean> {
  if (!isArmed) return Promise.resolve(false);
  gateResult ??= new Promise((resolve) => {
    const settle = (passed: boolean): void => {
      // A late result of an earlier gate must not settle the current gate.
      if (openGate !== gate) return;
      openGate = null;
      gateResult = null;
      notifyListeners();
      resolve(passed);
    };
    const gate: OpenGate = { kind, methods, settle };
    openGate = gate;
    notifyListeners();
  });
  return gateResult;
}
