/**
 * Tracks whether the user is active, for the `X-Unattended` header. Background polling of an unattended page must not
 * extend the session.
 */

/** Time without keyboard or pointer input after which a page is unattended, in milliseconds. */
const UNATTENDED_MS = 60_000;

let lastInputMs = performance.now();
for (const event of ['keydown', 'pointerdown', 'pointermove', 'wheel', 'touchstart']) {
  addEventListener(event, () => (lastInputMs = performance.now()), { capture: true, passive: true });
}

/** Reports whether the user gave input in the last minute. Loading the page counts as input. */
export function isUserActive(): boolean {
  return performance.now() - lastInputMs < UNATTENDED_MS;
}
