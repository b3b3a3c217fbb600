/** Makes the calls of one client, one after the other. The test sends each call as a message, and gets its result. */
import { CLIENTS } from './calls.mjs';
import { onWait, takeWaits } from './virtual-time.mjs';

const { call, detailOf } = await CLIENTS[process.argv[2]]();
let endWait;

onWait((waitedMs) => {
  const over = new Promise((resolve) => (endWait = resolve));
  process.send({ waitedMs });
  return over;
});

process.on('message', async (message) => {
  if (message.waited === true) {
    endWait();
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

function detailIn(result) {
  try {
    return detailOf(result) ?? null;
  } catch {
    return null;
  }
}

process.send({ ready: true, detailOf: detailOf.toString().replace(/^\(\w+\) => /, '') });
