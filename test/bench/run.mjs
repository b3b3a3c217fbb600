/**
 * Runs a benchmark: `node test/bench/run.mjs NAME [options]`. The `bench` scripts of package.json call it.
 *
 * A benchmark is a row of `BENCHES`, and a module that exports `options` and `measure`. This program parses the
 * options, builds Trailgate, and prints the text that `measure` returns. With `--write-docs` it also writes the text
 * into the documentation. It stops all programs that the benchmark has started.
 */
import { execFileSync } from 'node:child_process';
import { buildTrailgate, installTools } from './install.mjs';
import { helpOf, readOptions } from './options.mjs';
import { cleanUpOnExit, LOAD_CORE, stopAll } from './processes.mjs';
import { replaceInDocs } from './report.mjs';

/**
 * Benchmarks by name. `mark` is the name of the table in docs/benchmarks.md, or in `page`. `pinned` benchmarks need
 * `taskset` and the load tools, and this process runs on the load's core.
 */
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
  if (row === undefined) throw new Error(`Unknown benchmark ${name}. Use one of ${Object.keys(BENCHES).join(', ')}.`);
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
