/**
 * The harness of every benchmark: `node test/bench/run.mjs NAME [options]`, as `npm run bench` and the others of package.json call it.
 * A benchmark is a row of `BENCHES` and a module with its options and what it measures. The harness reads the options, builds the
 * program, prints the text and puts it into docs/benchmarks.md. It stops whatever was started.
 */
import { execFileSync } from 'node:child_process';
import { buildTrailgate, installTools } from './install.mjs';
import { helpOf, readOptions } from './options.mjs';
import { cleanUpOnExit, LOAD_CORE, stopAll } from './processes.mjs';
import { replaceInDocs } from './report.mjs';

/** Modules by name. `mark` names the place in docs/benchmarks.md, or in `page`. `pinned`: measured with the load on a core of its own. */
const BENCHES = {
  gateways: { command: 'bench', module: './gateways.mjs', mark: 'table', pinned: true },
  loads: { command: 'bench:loads', module: './loads/loads.mjs', pinned: true },
  quotas: { command: 'bench:quotas', module: './quota-decision.mjs', mark: 'quotas' },
  resources: { command: 'bench:resources', module: './resources.mjs', mark: 'resources' },
  sizing: { command: 'bench:sizing', module: './sizing.mjs', mark: 'sizing', page: 'docs/sizing.md' },
  steps: { command: 'bench:steps', module: './steps.mjs', mark: 'steps' },
  webhooks: { command: 'bench:webhooks', module: './webhooks.mjs', mark: 'webhooks', pinned: true },
};

async function run(name, args) {
  const row = BENCHES[name];
  if (row === undefined) throw new Error(`There is no benchmark ${name}: ${Object.keys(BENCHES).join(', ')}.`);
  const { command, module, mark, page, pinned = false } = row;
  const bench = await import(module);
  const options = readOptions(bench.options, args);
  if (options.help) return console.log(helpOf(command, bench.options, bench.note));
  if (pinned) installTools();
  if (!options['no-build'] && bench.measuresProgram?.(options) !== false) buildTrailgate();
  if (pinned) execFileSync('taskset', ['-pc', String(LOAD_CORE), String(process.pid)], { stdio: 'ignore' });
  const text = await bench.measure(options);
  if (text === undefined) return;
  console.log(`\n${text}`);
  if (options['write-docs']) replaceInDocs(mark, command, text, page);
}

cleanUpOnExit();
try {
  const [name, ...args] = process.argv.slice(2);
  await run(name, args);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await stopAll();
}
process.exit();
