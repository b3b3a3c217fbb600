/**
 * `npm run bench:steps`: measures the time and the allocated bytes of each step of a plain request, so that a
 * regression can be attributed to its step. Measures `dist/`. `test/performance/steps.spec.ts` limits the bytes.
 */
import { openSync } from 'node:fs';
import { commit, machineFacts } from './machine.mjs';

const THOROUGH = { rounds: 21, calls: 20_000, milliseconds: 80 };
/** Rounds with --json. They are too short for times, but sufficient for bytes. */
const QUICK = { rounds: 3, calls: 20_000, milliseconds: 0 };

export const options = {
  only: { takes: 'ID,ID', about: 'these steps only' },
  json: { about: 'the bytes of each step by its id, as JSON; a few seconds' },
};

/**
 * Measures the steps.
 * @param only IDs of the steps to measure, or undefined for all
 * @returns {id, what, lowestNs, medianNs, bytes} of each step
 */
async function measureSteps(only, amount) {
  // Imported lazily, because these modules import `dist/`, which this program may have just built.
  const { openGateway, makeKey, receiveRequests } = await import('./steps-parts.mjs');
  const { stepsOf } = await import('./steps-list.mjs');
  const { measureStep } = await import('./steps-measure.mjs');
  const gateway = await openGateway(openSync('/dev/null', 'w'));
  const key = await makeKey(gateway.modules);
  const requests = await receiveRequests(key.secret);
  try {
    const steps = await stepsOf(gateway, requests, key);
    const unknown = only?.find((id) => !steps.some((step) => step.id === id));
    if (unknown !== undefined)
      throw new Error(`--only: unknown step ${unknown}; use ${steps.map(({ id }) => id).join(', ')}`);
    const figures = [];
    for (const step of steps) {
      if (only !== undefined && !only.includes(step.id)) continue;
      console.error(step.what);
      figures.push({ id: step.id, what: step.what, ...(await measureStep(step, amount)) });
    }
    return figures;
  } finally {
    requests.close();
    await gateway.stop();
  }
}

const nanoseconds = (value) => (value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en'));

function table(figures) {
  const lines = figures.map(
    ({ id, what, lowestNs, medianNs, bytes }) =>
      `| ${what} | \`${id}\` | ${nanoseconds(lowestNs)} | ${nanoseconds(medianNs)} | ${Math.round(bytes).toLocaleString('en')} |`,
  );
  return ['| step | `--only` | CPU ns, lowest | median | bytes |', '| --- | --- | ---: | ---: | ---: |', ...lines].join(
    '\n',
  );
}

/**
 * Measures the steps.
 * @returns the table as Markdown; with --json the bytes by step ID
 */
export async function measure({ only, json }) {
  const { cpu, kernel, versions } = machineFacts();
  const figures = await measureSteps(only?.split(','), json ? QUICK : THOROUGH);
  if (json) return JSON.stringify(Object.fromEntries(figures.map(({ id, bytes }) => [id, Math.round(bytes)])));
  return `Commit ${commit()}; ${cpu}, Linux ${kernel}; Node ${versions.node}.\n\n${table(figures)}`;
}
