/**
 * `npm run bench:quotas`: what one quota decision costs, in this process and in Redis, in time, calls and memory, with few and with
 * very many keys. Measures dist/ through the same door as the gateway (`Limiter.decide`) and prints one table.
 */
import { parseArgs } from 'node:util';
import { commit, machineFacts } from './machine.mjs';
import { cleanUpOnExit, stopAll } from './processes.mjs';
import { measureFlush } from './quota-flush.mjs';
import { measureProcess } from './quota-process.mjs';
import { late } from './quota-parts.mjs';
import { measureRedis } from './quota-redis.mjs';
import { replaceInDocs } from './report.mjs';
import { buildTrailgate } from './install.mjs';

const BEGIN = '<!-- quotas: written by `npm run bench:quotas -- --write-docs` -->';
const END = '<!-- end of quotas -->';

const HELP = `npm run bench:quotas -- [options]
  --accounts N       accounts in Redis where they are many (1000000)
  --keys N           keys in the process where they are many (100000)
  --no-build         measure dist/ as it stands
  --write-docs       put the table into docs/benchmarks.md`;

function readArguments() {
  const { values } = parseArgs({
    options: {
      accounts: { type: 'string', default: '1000000' },
      keys: { type: 'string', default: '100000' },
      'no-build': { type: 'boolean', default: false },
      'write-docs': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const number = (name, least, most) => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < least || value > most) {
      throw new Error(`--${name} must be from ${least} to ${most}`);
    }
    return value;
  };
  return { ...values, accounts: number('accounts', 10_000, 5_000_000), keys: number('keys', 2_000, 1_000_000) };
}

/** Rows as Markdown. @param rows {what, figure, aim} */
function table(rows) {
  const lines = rows.map(({ what, figure, aim = '–' }) => `| ${what} | ${figure} | ${aim} |`);
  return ['| what | measured | aim |', '| --- | ---: | ---: |', ...lines].join('\n');
}

function caption({ cpu, cores, memoryGigabytes, kernel, versions }) {
  return `Commit ${commit()}; ${cpu}, ${cores} cores, ${memoryGigabytes} GB, Linux ${kernel}; Node ${versions.node}, Redis ${versions.redis}.`;
}

const options = readArguments();
if (options.help) {
  console.log(HELP);
} else {
  cleanUpOnExit();
  if (!options['no-build']) buildTrailgate();
  const head = caption(machineFacts());
  try {
    const rows = [
      ...(await measureProcess(options.keys)),
      ...(await measureFlush()),
      ...(await measureRedis(options.accounts)),
    ];
    const warning = `\n\n> ${late.decisions} decisions were late and asked again: other work was in the way; do not trust the times.`;
    const text = `${head}\n\n${table(rows)}${late.decisions === 0 ? '' : warning}`;
    console.log(`\n${text}`);
    if (options['write-docs']) replaceInDocs(BEGIN, END, text);
  } finally {
    await stopAll();
  }
}
