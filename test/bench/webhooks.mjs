/**
 * `npm run bench:webhooks`: how many webhooks a second one core delivers and what one costs, on both databases, with and without endpoints that
 * hang; how long one takes; and what a plain request costs meanwhile. docs/benchmarks.md says how it measures. Prints no table when a delivery
 * did not arrive, came twice or was not signed.
 */
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { buildTrailgate, installTools } from './install.mjs';
import { commit, machineFacts } from './machine.mjs';
import { cleanUpOnExit, LOAD_CORE, stopAll } from './processes.mjs';
import { FOREIGN_USE_LIMIT, replaceInDocs } from './report.mjs';
import { measureBare, measureDeliveries, measureRequests } from './webhooks-measure.mjs';
import { openWebhookScene } from './webhooks-scene.mjs';
import { wholeNumbers } from './whole-number.mjs';

const BEGIN = '<!-- webhooks: written by `npm run bench:webhooks -- --write-docs` -->';
const END = '<!-- end of webhooks -->';
const DATABASES = ['SQLite', 'PostgreSQL'];

const HELP = `npm run bench:webhooks -- [options]
  --only SQLite      one of: ${DATABASES.join(', ')}
  --rounds N         rounds of every row (3)
  --seconds N        length of each part of a round (6)
  --quick            one round of 2 s: a look, not a measurement
  --profile FOLDER   V8's profiles of the program into that folder
  --no-build         measure dist/ as it stands
  --write-docs       put the tables into docs/benchmarks.md`;

function readArguments() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      profile: { type: 'string' },
      'no-build': { type: 'boolean', default: false },
      'write-docs': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const number = wholeNumbers(values);
  const kinds = values.only === undefined ? DATABASES : DATABASES.filter((kind) => kind === values.only);
  if (kinds.length === 0) throw new Error(`--only must be one of ${DATABASES.join(', ')}`);
  return {
    ...values,
    kinds,
    rounds: number('rounds', values.quick ? 1 : 3, 100),
    seconds: number('seconds', values.quick ? 2 : 6, 600),
  };
}

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
  return [`> Other work took up to ${Math.round(worst * 100)} % of the program's core: the CPU figures are somewhat higher, the times longer and the deliveries far fewer than they were alone.`]; // prettier-ignore
}

function caption({ cpu, cores, kernel, versions }, { rounds, seconds }) {
  const howLong = `medians of ${rounds} round${rounds === 1 ? '' : 's'} of ${seconds} s`;
  const date = new Date().toISOString().slice(0, 10);
  return `Commit ${commit()}, ${date}; ${cpu}, ${cores} cores, Linux ${kernel}; Node ${versions.node}; ${howLong}.`;
}

async function measure({ kinds, profile, ...settings }) {
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
    // Of its own: in the other one there are as many deliveries already, and the process has aged.
    const beside = await openWebhookScene(kind, nodeArgs);
    await beside.addHanging();
    figures.deliveries.push(await measureDeliveries(beside, settings, `900 endpoints beside 100 that hang, ${kind}`));
    await beside.stop();
  }
  return figures;
}

async function bench(options) {
  installTools();
  if (!options['no-build']) buildTrailgate();
  const head = caption(machineFacts(), options);
  execFileSync('taskset', ['-pc', String(LOAD_CORE), String(process.pid)], { stdio: 'ignore' });
  const figures = await measure(options);
  const text = [head, ...tablesOf(figures), ...notesOf(figures)].join('\n\n');
  console.log(`\n${text}`);
  if (options['write-docs']) replaceInDocs(BEGIN, END, text);
}

cleanUpOnExit();
try {
  const options = readArguments();
  if (options.help) console.log(HELP);
  else await bench(options);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await stopAll();
}
process.exit();
