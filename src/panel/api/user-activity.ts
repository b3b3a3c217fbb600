/** Tracks whether someone uses the page. Background polling of an unattended page must not extend the session. */

/** A page without keyboard or pointer input for this long is unattended. */
const UNATTENDED_MS = 60_000;

let lastInputMs = performance.now();
for (const event of ['keydown', 'pointerdown', 'pointermove', 'wheel', 'touchstart']) {
  addEventListener(event, () => (lastInputMs = performance.now()), { capture: true, passive: true });
}

/** Reports whether there was input in the last minute. */
export function isUserActive(): boolean {
  return performance.now() - lastInputMs < UNATTENDED_MS;
}
