/**
 * Sends requests at a constant rate over raw sockets. Prints one line, `RESULT {json}`.
 *
 * The due times of all requests are fixed before the first one is sent. Latency counts from the due time, even if no
 * connection is free then. If the gateway stalls, the latency of all requests that are due meanwhile therefore
 * increases (no coordinated omission).
 *
 * `fixed-rate.mjs` starts this program on the load's core with SCHED_IDLE. It polls without pauses, because timers are
 * up to a millisecond late, and uses only CPU time that no other program on the core needs.
 */
import { readFileSync } from 'node:fs';
import { OpenConnection } from './open-connection.mjs';

/** Maximum time from the last due time to the last response. */
const LATEST_ANSWER_MS = 10_000;

const settings = JSON.parse(process.argv[2]);
const { port, path, method = 'GET', bodyFile, ca, secretsFile, rate, seconds, warmUpSeconds, connections } = settings;
const requestBody = bodyFile === undefined ? undefined : readFileSync(bodyFile);
const bodyFields =
  requestBody === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${requestBody.length}\r\n`;
const requests = readFileSync(secretsFile, 'utf8')
  .split('\n')
  .map((secret) =>
    Buffer.concat([
      Buffer.from(
        `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${secret}\r\n` +
          `Accept: application/json\r\nUser-Agent: trailgate-bench/1\r\n${bodyFields}\r\n`,
      ),
      requestBody ?? Buffer.alloc(0),
    ]),
  );
const server = { port, ca: ca === undefined ? undefined : readFileSync(ca) };
const expectation = { body: Buffer.from(settings.body), limits: settings.limits };
const total = Math.round(rate * (seconds + warmUpSeconds));
/** Index of the first request after the warm-up. The figures exclude earlier requests. */
const firstTold = Math.round(rate * warmUpSeconds);
const intervalMs = 1_000 / rate;
const latencies = new Float64Array(total - firstTold);
const lateness = new Float64Array(total - firstTold);

const free = [];
let sent = 0;
let answered = 0;
let startMs = 0;
/** Index after the last request that was due while every connection was busy. */
let waitedUntil = 0;
let waited = 0;
/** Number of values in `lateness`: the requests that did not have to wait for a connection. */
let prompt = 0;

const dueMs = (index) => startMs + index * intervalMs;

const listener = {
  answered({ index }) {
    if (index >= firstTold) latencies[index - firstTold] = performance.now() - dueMs(index);
    answered += 1;
  },
  ready(connection) {
    free.push(connection);
  },
  fail(message) {
    console.log(`RESULT ${JSON.stringify({ failure: message, sent, answered })}`);
    process.exit(1);
  },
};

/** Sends the requests that are due, until all have a response. Connections take turns. */
function sendDue() {
  const nowMs = performance.now();
  while (sent < total && dueMs(sent) <= nowMs) {
    const connection = free.shift();
    if (connection === undefined) {
      countWaiting(nowMs);
      break;
    }
    if (sent >= Math.max(firstTold, waitedUntil)) lateness[prompt++] = performance.now() - dueMs(sent);
    connection.send(sent, requests[sent % requests.length]);
    sent += 1;
  }
  if (answered === total) report();
  else if (nowMs > dueMs(total) + LATEST_ANSWER_MS) listener.fail(`${sent - answered} requests got no response`);
  else setImmediate(sendDue);
}

/** Counts the requests that are due and have no free connection, each once. */
function countWaiting(nowMs) {
  const due = Math.min(total, Math.floor((nowMs - startMs) / intervalMs) + 1);
  waited += Math.max(0, due - Math.max(sent, waitedUntil, firstTold));
  waitedUntil = Math.max(waitedUntil, due);
}

function quantiles(values) {
  const sorted = values.toSorted();
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max: sorted.at(-1) };
}

function report() {
  const figures = { latency: quantiles(latencies), lateness: quantiles(lateness.subarray(0, prompt)) };
  console.log(`RESULT ${JSON.stringify({ requests: total, told: latencies.length, waited, ...figures })}`);
  process.exit();
}

for (let opened = 0; opened < connections; opened++) await new OpenConnection(server, expectation, listener).open();
startMs = performance.now() + intervalMs;
sendDue();
