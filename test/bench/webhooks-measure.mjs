/** Measures webhook deliveries at capacity and at a steady rate, and plain requests with and without deliveries. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { coreBusySeconds, cpuSeconds, residentMegabytes } from './accounting.mjs';
import { runLoad } from './load.mjs';
import { GATEWAY_CORE, startProgram } from './processes.mjs';
import { median } from './report.mjs';
import { ENDPOINTS_EACH } from './webhooks-scene.mjs';

/** Event rate of the steady load. Each event has nine deliveries, so there are 270 deliveries per second. */
export const STEADY_EVENTS_PER_SECOND = 30;
const CONNECTIONS = 8;
const BODY_BYTES = 500;

/** Returns a quantile: the value below which that share of the values lies. */
function quantile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** Runs `work`. Resolves to its result, and the CPU time in seconds and memory of the program and PostgreSQL. */
async function measureUse({ program, postgres }, work) {
  const read = () => ({
    cpu: cpuSeconds(program.pid),
    database: postgres === undefined ? undefined : cpuSeconds(postgres.pid),
    core: coreBusySeconds(GATEWAY_CORE),
  });
  const [before, startMs] = [read(), performance.now()];
  const result = await work();
  const [after, seconds] = [read(), (performance.now() - startMs) / 1_000];
  const cpu = after.cpu - before.cpu;
  return {
    result,
    seconds,
    cpu,
    database: after.database === undefined ? undefined : after.database - before.database,
    foreignCoreUse: Math.max(0, after.core - before.core - cpu) / seconds,
    residentMegabytes: residentMegabytes(program.pid),
  };
}

/** Measures rounds of deliveries: their rate and CPU time at capacity, and their delay at a steady rate. */
export async function measureDeliveries(scene, { rounds, seconds }, title) {
  const measured = [];
  await scene.deliverAtCapacity(seconds / 2);
  for (let round = 0; round < rounds; round++) {
    const { result, ...used } = await measureUse(scene, () => scene.deliverAtCapacity(seconds));
    const steady = await measureUse(scene, () => scene.deliverSteadily(seconds, STEADY_EVENTS_PER_SECOND));
    const { delaysMs } = scene.receiver;
    const figures = {
      perSecond: result / used.seconds,
      cpuMicroseconds: (used.cpu / result) * 1e6,
      coreUse: used.cpu / used.seconds,
      databaseMicroseconds: used.database === undefined ? undefined : (used.database / result) * 1e6,
      steadyMicroseconds: (steady.cpu / steady.result) * 1e6,
      p50: quantile(delaysMs, 0.5),
      p99: quantile(delaysMs, 0.99),
      residentMegabytes: used.residentMegabytes,
      foreignCoreUse: used.foreignCoreUse,
    };
    console.error(
      `${title}: ${Math.round(figures.perSecond)} deliveries/s, ${Math.round(figures.cpuMicroseconds)} µs of CPU each; ` +
        `steady ${Math.round(figures.steadyMicroseconds)} µs, p50 ${figures.p50.toFixed(1)} ms, p99 ${figures.p99.toFixed(1)} ms`,
    );
    measured.push(figures);
  }
  return { title, ...mediansOf(measured) };
}

/**
 * Measures plain requests in a closed loop, with and without deliveries. Also measures the deliveries alone, and
 * subtracts their CPU time from that of both.
 */
export async function measureRequests(scene, { rounds, seconds }) {
  const gateway = { url: scene.url, secretsFile: scene.secretsFile, limits: true };
  const requests = () => runLoad(gateway, { seconds, connections: CONNECTIONS });
  const deliveries = () => scene.deliverSteadily(seconds, STEADY_EVENTS_PER_SECOND);
  const measured = { alone: [], beside: [] };
  await runLoad(gateway, { seconds: 1, connections: CONNECTIONS, verify: true });
  for (let round = 0; round < rounds; round++) {
    const only = await measureUse(scene, deliveries);
    const alone = await measureUse(scene, requests);
    const both = await measureUse(scene, async () => (await Promise.all([requests(), deliveries()]))[0]);
    measured.alone.push(requestFigures(alone, 0));
    measured.beside.push(requestFigures(both, only.cpu));
  }
  return [
    { title: 'no deliveries', ...mediansOf(measured.alone) },
    { title: `${STEADY_EVENTS_PER_SECOND * ENDPOINTS_EACH} deliveries a second`, ...mediansOf(measured.beside) },
  ];
}

function requestFigures({ result, cpu, foreignCoreUse }, cpuOfDeliveries) {
  const { requests, seconds, p50, p99 } = result;
  const cpuMicroseconds = ((cpu - cpuOfDeliveries) / requests) * 1e6;
  const perSecond = requests / seconds;
  console.error(`plain requests: ${Math.round(perSecond)} a second, ${cpuMicroseconds.toFixed(1)} µs of CPU each`);
  return { cpuMicroseconds, perSecond, p50, p99, foreignCoreUse };
}

/** Measures a loop that only posts bodies of the same size with `node:http`, see `webhooks-bare.mjs`. */
export async function measureBare(scene, { rounds, seconds }) {
  const script = path.join(import.meta.dirname, 'webhooks-bare.mjs');
  const url = scene.receiverUrl;
  const measured = [];
  for (let round = 0; round < rounds; round++) {
    scene.receiver.reset();
    const args = [script, url, String(BODY_BYTES), String(seconds)];
    const program = startProgram({ name: `bare-${round}`, command: process.execPath, args, core: GATEWAY_CORE });
    await new Promise((resolve) => program.child.once('exit', resolve));
    const [, json] = /^RESULT (.*)$/m.exec(readFileSync(program.log, 'utf8')) ?? [];
    if (json === undefined)
      throw new Error(`webhooks-bare.mjs printed no result:\n${readFileSync(program.log, 'utf8')}`);
    const { cpuMicroseconds, perSecond } = JSON.parse(json);
    measured.push({ cpuMicroseconds, perSecond, coreUse: (perSecond * cpuMicroseconds) / 1e6, foreignCoreUse: 0 });
  }
  return { title: 'a loop of `node:http` that only posts', ...mediansOf(measured) };
}

function mediansOf(rounds) {
  const names = Object.keys(rounds[0]).filter((name) => rounds[0][name] !== undefined);
  const medians = Object.fromEntries(names.map((name) => [name, median(rounds.map((round) => round[name]))]));
  return { ...medians, worstForeignUse: Math.max(...rounds.map(({ foreignCoreUse }) => foreignCoreUse)), rounds };
}
