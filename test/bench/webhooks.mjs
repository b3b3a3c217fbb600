/**
 * `npm run bench:webhooks`: measures webhook deliveries on both databases, with and without endpoints that hang. The
 * tables have the deliveries per second on one core, CPU time and delay. Also measures plain requests during
 * deliveries. Prints an error instead of tables if a delivery was lost, duplicated or unsigned. docs/benchmarks.md
 * describes the method.
 */
import { commit, machineFacts } from './machine.mjs';
import { FOREIGN_USE_LIMIT } from './report.mjs';
import { measureBare, measureDeliveries, measureRequests } from './webhooks-measure.mjs';
import { openWebhookScene } from './webhooks-scene.mjs';

const DATABASES = ['SQLite', 'PostgreSQL'];

export const options = {
  only: { takes: 'SQLite', about: 'one of', among: DATABASES },
  rounds: { takes: 'N', about: 'rounds of every row', normal: { normal: 3, quick: 1 }, most: 100 },
  seconds: { takes: 'N', about: 'length of each part of a round', normal: { normal: 6, quick: 2 }, most: 600 },
  quick: { about: 'one round of 2 s: a look, not a measurement' },
  profile: { takes: 'FOLDER', about: "V8's profiles of the program into that folder" },
};

const fixed = (value, digits = 0) => (value === undefined ? '–' : value.toFixed(digits));

function tableOf(first, rows, columns) {
  const head = [first, ...Object.keys(columns)];
  const lines = rows.map((row) => [row.title, ...Object.values(columns).map((cell) => cell(row))]);
  const alignment = head.map((_, at) => (at === 0 ? '---' : '---:'));
  return [head, alignment, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function tablesOf({ deliveries, bare, requests }) {
  const deliveryTable = tableOf('deliveries to', [...deliveries, bare], {
    'deliveries/s': ({ perSecond }) => Math.round(perSecond).toLocaleString('en'),
    'CPU µs/delivery': ({ cpuMicroseconds }) => fixed(cpuMicroseconds),
    'with a whole core: a second': ({ cpuMicroseconds }) => Math.round(1e6 / cpuMicroseconds).toLocaleString('en'),
    "PostgreSQL's": ({ databaseMicroseconds }) => fixed(databaseMicroseconds),
    "use of the program's core": ({ coreUse }) => `${fixed(coreUse * 100)} %`,
    'steady: CPU µs/delivery': ({ steadyMicroseconds }) => fixed(steadyMicroseconds),
    'p50 ms': ({ p50 }) => fixed(p50, 1),
    'p99 ms': ({ p99 }) => fixed(p99, 1),
    'memory MB': ({ residentMegabytes }) => fixed(residentMegabytes),
  });
  const requestTable = tableOf('plain requests beside', requests, {
    'requests/s': ({ perSecond }) => Math.round(perSecond).toLocaleString('en'),
    'CPU µs/request': ({ cpuMicroseconds }) => fixed(cpuMicroseconds, 1),
    'p50 ms': ({ p50 }) => fixed(p50, 2),
    'p99 ms': ({ p99 }) => fixed(p99, 2),
  });
  return requests.length === 0 ? [deliveryTable] : [deliveryTable, requestTable];
}

function notesOf({ deliveries, requests }) {
  const worst = Math.max(...[...deliveries, ...requests].map(({ worstForeignUse }) => worstForeignUse));
  if (worst <= FOREIGN_USE_LIMIT) return [];
  return [`> Other work used up to ${Math.round(worst * 100)} % of the program's core. CPU figures and times are too high, and the rates of deliveries far too low.`]; // prettier-ignore
}

function caption({ cpu, cores, kernel, versions }, { rounds, seconds }) {
  const howLong = `medians of ${rounds} round${rounds === 1 ? '' : 's'} of ${seconds} s`;
  const date = new Date().toISOString().slice(0, 10);
  return `Commit ${commit()}, ${date}; ${cpu}, ${cores} cores, Linux ${kernel}; Node ${versions.node}; ${howLong}.`;
}

async function measureKinds({ only: kinds = DATABASES, profile, ...settings }) {
  const figures = { deliveries: [], requests: [] };
  const nodeArgs = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  for (const kind of kinds) {
    const scene = await openWebhookScene(kind, nodeArgs);
    figures.deliveries.push(await measureDeliveries(scene, settings, `900 endpoints, ${kind}`));
    if (kind === kinds[0]) {
      figures.requests = await measureRequests(scene, settings);
      figures.bare = await measureBare(scene, settings);
    }
    await scene.stop();
    // Uses a new scene, because the process and the database of the first one have already handled many deliveries.
    const beside = await openWebhookScene(kind, nodeArgs);
    await beside.addHanging();
    figures.deliveries.push(await measureDeliveries(beside, settings, `900 endpoints beside 100 that hang, ${kind}`));
    await beside.stop();
  }
  return figures;
}

/**
 * Measures deliveries with both databases.
 * @returns the tables as Markdown
 */
export async function measure(given) {
  const head = caption(machineFacts(), given);
  const figures = await measureKinds(given);
  return [head, ...tablesOf(figures), ...notesOf(figures)].join('\n\n');
}
