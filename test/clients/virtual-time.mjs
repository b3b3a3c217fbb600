/**
 * Replaces the timers of a client's process, so that waiting takes no time. The process loads this module with
 * `--import`. A timer that runs while no request is in progress is a wait. It is recorded and reported to the test,
 * which advances the gateway's clock by the same time. Then the timer fires. A timer that runs during a request is the
 * timeout of the request, and does not fire.
 */
import { subscribe } from 'node:diagnostics_channel';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';

const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** Shorter timers stay real timers, and are not recorded. */
const SHORTEST_WAIT_MS = 20;
/** Interval of the checks for running requests, and number of consecutive checks without one before a timer fires. */
const CHECK_INTERVAL_MS = 5;
const QUIET_CHECKS = 6;

const real = { setTimeout, clearTimeout, setInterval };
/** @type {Set<VirtualTimer>} */
const pending = new Set();
/** Requests whose response has not begun. */
const runningRequests = new Set();
let quietChecks = 0;
let waits = [];
let reportWait = async () => undefined;

/** Returns the waits since the last call of this function, in ms. */
export function takeWaits() {
  const taken = waits;
  waits = [];
  return taken;
}

/** @param report called with each wait, in ms. The wait ends when the returned promise is resolved. */
export function onWait(report) {
  reportWait = report;
}

class VirtualTimer {
  constructor(callback, delayMs, args) {
    // As in Node, a delay that is too long becomes 1 ms.
    this.leftMs = delayMs > LONGEST_TIMER_MS ? 1 : delayMs;
    this.askedMs = delayMs;
    this.run = () => callback(...args);
    pending.add(this);
  }

  fire() {
    pending.delete(this);
    this.run();
  }

  cancel() {
    pending.delete(this);
    real.clearTimeout(this.realTimer);
  }

  hasRef() {
    return this.realTimer === undefined;
  }

  /** Turns the timer into a real one, because the process does not wait for it. */
  unref() {
    if (pending.delete(this)) this.realTimer = real.setTimeout(this.run, this.leftMs).unref();
    return this;
  }

  ref() {
    return this;
  }

  refresh() {
    if (this.realTimer === undefined) pending.add(this);
    else this.realTimer.refresh();
    return this;
  }

  close() {
    this.cancel();
    return this;
  }

  [Symbol.dispose]() {
    this.cancel();
  }

  [Symbol.toPrimitive]() {
    return 0;
  }
}

function setVirtualTimeout(callback, delayMs = 1, ...args) {
  if (!(delayMs >= SHORTEST_WAIT_MS)) return real.setTimeout(callback, delayMs, ...args);
  return new VirtualTimer(callback, delayMs, args);
}

function clearVirtualTimeout(timer) {
  if (timer instanceof VirtualTimer) timer.cancel();
  else real.clearTimeout(timer);
}

function sleep(delayMs, value, { signal } = {}) {
  return new Promise((resolve, reject) => {
    const timer = setVirtualTimeout(resolve, delayMs, value);
    signal?.addEventListener('abort', () => {
      clearVirtualTimeout(timer);
      reject(signal.reason);
    });
  });
}

async function advanceTime() {
  const [next] = [...pending].toSorted((a, b) => a.leftMs - b.leftMs);
  if (next === undefined || runningRequests.size > 0) {
    quietChecks = 0;
  } else if (++quietChecks >= QUIET_CHECKS) {
    quietChecks = 0;
    const waitedMs = next.leftMs;
    waits.push(Math.round(next.askedMs));
    await reportWait(waitedMs);
    for (const timer of pending) timer.leftMs -= waitedMs;
    next.fire();
  }
  real.setTimeout(advanceTime, CHECK_INTERVAL_MS).unref();
}

const onRequestStart = ({ request }) => runningRequests.add(request);
// A request ends with the response head, because a client may leave the body unread while it waits.
const onRequestEnd = ({ request }) => runningRequests.delete(request);
subscribe('undici:request:create', onRequestStart);
subscribe('undici:request:headers', onRequestEnd);
subscribe('undici:request:error', onRequestEnd);
subscribe('http.client.request.start', onRequestStart);
subscribe('http.client.response.finish', onRequestEnd);
subscribe('http.client.request.error', onRequestEnd);

Object.assign(globalThis, { setTimeout: setVirtualTimeout, clearTimeout: clearVirtualTimeout });
Object.assign(timers, { setTimeout: setVirtualTimeout, clearTimeout: clearVirtualTimeout });
Object.assign(timersPromises, { setTimeout: sleep });
syncBuiltinESMExports();
void advanceTime();
