/**
 * Measures the minimum cost of a delivery: posts the same body with `node:http` over keep-alive connections, without
 * signing and without a database. Prints one line, `RESULT {json}`.
 *
 * Arguments: URL, size of the body in bytes, duration in seconds.
 */
import { Agent, request } from 'node:http';

const AT_ONCE = 64;
const WARM_UP_MS = 2_000;
const [url, bytes, seconds] = process.argv.slice(2);
const body = Buffer.from(`{"data":"${'x'.repeat(Number(bytes) - 11)}"}`);
const agent = new Agent({ keepAlive: true, maxFreeSockets: AT_ONCE });
const signature = `v1,${'s'.repeat(44)} v1a,${'s'.repeat(88)}`;
let sent = 0;

function post() {
  return new Promise((resolve, reject) => {
    const fields = { 'webhook-id': `evt_${sent++}`, 'webhook-signature': signature };
    const headers = { 'content-type': 'application/json', 'content-length': body.length, ...fields };
    const message = request(url, { method: 'POST', agent, headers }, (response) => {
      response.resume().on('end', resolve);
    });
    message.on('error', reject).end(body);
  });
}

async function postUntil(endMs) {
  let count = 0;
  const one = async () => {
    for (; performance.now() < endMs; count++) await post();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return count;
}

await postUntil(performance.now() + WARM_UP_MS);
const [before, startMs] = [process.cpuUsage(), performance.now()];
const count = await postUntil(startMs + Number(seconds) * 1_000);
const { user, system } = process.cpuUsage(before);
const perSecond = (count * 1_000) / (performance.now() - startMs);
console.log(`RESULT ${JSON.stringify({ cpuMicroseconds: (user + system) / count, perSecond })}`);
process.exit();
