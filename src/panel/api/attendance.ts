/** Whether somebody is at the page: pages that read by themselves keep nobody signed in. */

/** Nobody is at a page that has heard of neither key nor pointer for so long. */
const UNATTENDED_MS = 60_000;

let lastInputMs = performance.now();
for (const event of ['keydown', 'pointerdown', 'pointermove', 'wheel', 'touchstart']) {
  addEventListener(event, () => (lastInputMs = performance.now()), { capture: true, passive: true });
}

/** Whether there was a key or a pointer in the last minute. */
export function isAttended(): boolean {
  return performance.now() - lastInputMs < UNATTENDED_MS;
}
