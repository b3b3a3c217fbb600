/** A process that makes the calls of one client, one after the other: the test says which, and is told what came of each. */
import { CLIENTS } from './calls.mjs';
import { onWait, takeWaits } from './virtual-time.mjs';

const { call, detailOf } = await CLIENTS[process.argv[2]]();
let goOn;

onWait((waitedMs) => {
  const over = new Promise((resolve) => (goOn = resolve));
  process.send({ waitedMs });
  return over;
});

process.on('message', async (message) => {
  if (message.waited === true) {
    goOn();
    return;
  }
  takeWaits();
  const outcome = await outcomeOf(message);
  process.send({ ...outcome, waitsMs: takeWaits() });
});

async function outcomeOf(message) {
  try {
    return { text: null, detail: detailIn(await call(message)) };
  } catch (error) {
    return { text: String(error.message), detail: detailIn(error) };
  }
}

function detailIn(told) {
  try {
    return detailOf(told) ?? null;
  } catch {
    return null;
  }
}

process.send({ ready: true, detailOf: detailOf.toString().replace(/^\(\w+\) => /, '') });
