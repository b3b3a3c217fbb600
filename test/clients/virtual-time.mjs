/**
 * Loaded into a client's process with `--import`: nobody really sleeps. A timer that runs while no request is under way is a wait; it is
 * noted, told to the test that started the process, which turns the gateway's clock as far, and over at once. A timer that runs beside a
 * request is that request's time-out, and left alone.
 */
import { subscribe } from 'node:diagnostics_channel';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';

const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** Shorter ones are not worth a note. */
const SHORTEST_WAIT_MS = 20;
/** How often it is looked whether everybody waits, and how often that must have been so. */
const LOOK_MS = 5;
const QUIET_LOOKS = 6;

const real = { setTimeout, clearTimeout, setInterval };
/** @type {Set<VirtualTimer>} */
const pending = new Set();
/** Requests whose response has not begun. */
const underWay = new Set();
let quietLooks = 0;
let waits = [];
let tell = async () => undefined;

/** The waits since this was last asked, ms. */
export function takeWaits() {
  const taken = waits;
  waits = [];
  return taken;
}

/** @param told is given each wait before it is over; it is over when what this returns has settled. */
export function onWait(told) {
  tell = told;
}

class VirtualTimer {
  constructor(callback, delayMs, args) {
    // As Node does: what is too long is over at once.
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
    real.clearTimeout(this.machine);
  }

  hasRef() {
    return this.machine === undefined;
  }

  /** Nobody waits for it: it goes by the machine's clock. */
  unref() {
    if (pending.delete(this)) this.machine = real.setTimeout(this.run, this.leftMs).unref();
    return this;
  }

  ref() {
    return this;
  }

  refresh() {
    if (this.machine === undefined) pending.add(this);
    else this.machine.refresh();
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

async function passTime() {
  const [next] = [...pending].toSorted((a, b) => a.leftMs - b.leftMs);
  if (next === undefined || underWay.size > 0) {
    quietLooks = 0;
  } else if (++quietLooks >= QUIET_LOOKS) {
    quietLooks = 0;
    const waitedMs = next.leftMs;
    waits.push(Math.round(next.askedMs));
    await tell(waitedMs);
    for (const timer of pending) timer.leftMs -= waitedMs;
    next.fire();
  }
  real.setTimeout(passTime, LOOK_MS).unref();
}

const begins = ({ request }) => underWay.add(request);
// With the head: a client may let the body wait while it waits itself.
const ends = ({ request }) => underWay.delete(request);
subscribe('undici:request:create', begins);
subscribe('undici:request:headers', ends);
subscribe('undici:request:error', ends);
subscribe('http.client.request.start', begins);
subscribe('http.client.response.finish', ends);
subscribe('http.client.request.error', ends);

Object.assign(globalThis, { setTimeout: setVirtualTimeout, clearTimeout: clearVirtualTimeout });
Object.assign(timers, { setTimeout: setVirtualTimeout, clearTimeout: clearVirtualTimeout });
Object.assign(timersPromises, { setTimeout: sleep });
syncBuiltinESMExports();
void passTime();
