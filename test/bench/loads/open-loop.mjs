/**
 * A program of its own: requests at a constant rate over raw sockets. Every request has its instant before the first one is sent, and its
 * latency counts from that instant, whether or not a connection was free then: a gateway that stalls is charged for everyone who
 * would have called meanwhile (no coordinated omission). Prints one line, `RESULT {json}`.
 *
 * Started by `fixed-rate.mjs`, with SCHED_IDLE on the load's core: it turns without a pause, because timers come a millisecond late,
 * and takes only the time that nobody else there wants.
 */
import { readFileSync } from 'node:fs';
import { OpenConnection } from './open-connection.mjs';

/** From the last instant on. */
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
/** Requests of the warm-up are sent and answered, but not told of. */
const firstTold = Math.round(rate * warmUpSeconds);
const intervalMs = 1_000 / rate;
const latencies = new Float64Array(total - firstTold);
const lateness = new Float64Array(total - firstTold);

const free = [];
let sent = 0;
let answered = 0;
let startMs = 0;
/** Requests before this one, in order of their instants, found every connection busy when theirs came. */
let waitedUntil = 0;
let waited = 0;
/** How late this program itself was, of those that did not have to wait for a connection. */
let prompt = 0;

const dueMs = (index) => startMs + index * intervalMs;

const told = {
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

/** Sends what is due. Connections take turns. */
function turn() {
  const nowMs = performance.now();
  while (sent < total && dueMs(sent) <= nowMs) {
    const connection = free.shift();
    if (connection === undefined) {
      noteWaiting(nowMs);
      break;
    }
    if (sent >= Math.max(firstTold, waitedUntil)) lateness[prompt++] = performance.now() - dueMs(sent);
    connection.send(sent, requests[sent % requests.length]);
    sent += 1;
  }
  if (answered === total) report();
  else if (nowMs > dueMs(total) + LATEST_ANSWER_MS) told.fail(`${sent - answered} requests were never answered`);
  else setImmediate(turn);
}

function noteWaiting(nowMs) {
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

for (let opened = 0; opened < connections; opened++) await new OpenConnection(server, expectation, told).open();
startMs = performance.now() + intervalMs;
turn();
