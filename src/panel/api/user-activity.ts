/** Tracks whether the user is active. Background polling of an unattended page must not extend the session. */

/** A page is unattended after this time without keyboard or pointer input, in milliseconds. */
const UNATTENDED_MS = 60_000;

let lastInputMs = performance.now();
for (const event of ['keydown', 'pointerdown', 'pointermove', 'wheel', 'touchstart']) {
  addEventListener(event, () => (lastInputMs = performance.now()), { capture: true, passive: true });
}

/** Reports whether there was input in the last minute. Loading the page counts as input. */
export function isUserActive(): boolean {
  return performance.now() - lastInputMs < UNATTENDED_MS;
}
