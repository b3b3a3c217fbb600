/** A changed configuration is read and checked beside the requests, not between them: nobody waits for it, and it leaves no memory. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { send, type Answer } from '../support/http.js';
import { LongTurns } from '../support/long-turns.js';
import { residentBytes } from '../support/metrics-text.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { realDocument } from '../support/real-documents.js';
import { quantile, SteadyLoad } from '../support/steady-load.js';

/** Operations of GitHub's document. */
const OPERATIONS = 1_223;
const MAX_MORE_BYTES = 150_000_000;
/** Seconds of a core, which others may want as well. */
const RELOAD_TIMEOUT_MS = 300_000;
const LONGEST_QUIET_MS = 5_000;
/** A second, or as many as the machine carries beside whatever else it does. */
const RATES = [500, 200, 50];
const CARRIED_MS = 20;
/** Maximum number of rounds. Other work of the machine affects some of them. The reload would affect all. */
const MAX_ROUNDS = 8;
const RELOADS = 3;
/** Collections of an idle process end after 40 s. */
const SETTLED_MS = 90_000;

describe("a reload of GitHub's document", () => {
  const turns = new LongTurns();
  let backend: Backend;
  let trailgate: RunningTrailgate;
  let secret: string;

  const description = (): Promise<Answer> => send(`${trailgate.gatewayUrl}/api/v1/openapi.json`);
  /** How often it has changed. Reads each line once: the load comes from this process, which has little time. */
  let [lines, changed] = [0, 0];
  const changes = (): number => {
    for (; lines < trailgate.stdout.length; lines++) {
      if (trailgate.stdout[lines]!.includes('"event":"config_changed"')) changed++;
    }
    return changed;
  };
  /** Sends SIGHUP, waits until what it reads is in force, and asks for the description, as the first one to do so. */
  const reload = async (): Promise<void> => {
    const before = changes();
    trailgate.signal('SIGHUP');
    await eventually('it is in force', () => changes() > before, RELOAD_TIMEOUT_MS);
    expect((await description()).body.length).toBeGreaterThan(OPERATIONS * 250);
  };

  beforeAll(async () => {
    backend = await startBackend(json({ ok: true }));
    trailgate = await startTrailgate({
      backend: backend.url,
      env: turns.env,
      config: {
        services: {
          // What a machine that does other things held back comes at once.
          backend: { accountShare: 1, queue: 10_000 },
          github: { targets: [backend.url], openapi: realDocument('github'), scopes: ['api:any'] },
        },
      },
    });
    ({ secret } = (await trailgate.admin.newKey('unlimited')).key);
  }, RELOAD_TIMEOUT_MS);
  afterAll(async () => {
    await trailgate?.stop();
    await backend?.stop();
  });

  it(
    'makes no request of 500 a second wait for 20 ms more, and keeps the event loop busy for less than 10 ms in one piece',
    async () => {
      const load = await steadyLoad();
      const quiet = { waitMs: Infinity, turnMs: Infinity };
      const reloading = { waitMs: Infinity, turnMs: Infinity };
      const measured = async (best: typeof quiet, during: () => Promise<void>): Promise<number> => {
        const [from, fromMs] = [Date.now(), performance.now()];
        await during();
        // The longest waits of all are for other programs. A stop of 25 ms shows here already.
        const waits = load.between(fromMs, performance.now()).map(({ tookMs }) => tookMs);
        best.waitMs = Math.min(best.waitMs, quantile(waits, 0.99));
        best.turnMs = Math.min(best.turnMs, turns.longest(from, Date.now()));
        return performance.now() - fromMs;
      };
      // Where other programs keep requests waiting, one more does so too.
      const isUnnoticed = (): boolean =>
        reloading.turnMs - quiet.turnMs < 10 && reloading.waitMs < 3 * quiet.waitMs + 20;
      try {
        for (let round = 0; round < MAX_ROUNDS && !isUnnoticed(); round++) {
          const lastedMs = await measured(reloading, reload);
          await measured(quiet, () => sleep(Math.min(lastedMs, LONGEST_QUIET_MS)));
        }
      } finally {
        await load.stop();
      }
      expect(new Set(load.samples.map(({ status }) => status))).toEqual(new Set([200]));
      expect({ reloading, quiet, isUnnoticed: isUnnoticed() }).toEqual({ reloading, quiet, isUnnoticed: true });
    },
    MAX_ROUNDS * RELOAD_TIMEOUT_MS,
  );

  /** Starts a load as high as the machine can serve. */
  async function steadyLoad(): Promise<SteadyLoad> {
    for (const rate of RATES) {
      const load = new SteadyLoad([{ name: 'open', gatewayUrl: trailgate.gatewayUrl, secret }], rate);
      await sleep(1_500);
      const took = load.samples.map(({ tookMs }) => tookMs);
      if (rate === RATES.at(-1) || quantile(took, 0.5) < CARRIED_MS) return load;
      await load.stop();
    }
    throw new Error('no rate');
  }

  it(
    'leaves the memory that it took to the system',
    async () => {
      const { paths } = (await description()).json<{ paths: Record<string, object> }>();
      expect(Object.values(paths).flatMap((item) => Object.keys(item)).length).toBeGreaterThan(OPERATIONS);
      await reload();
      const before = residentBytes(trailgate.pid);
      for (let round = 0; round < RELOADS; round++) await reload();
      expect(residentBytes(trailgate.pid) - before).toBeLessThan(30 * 1024 * 1024);
    },
    MAX_ROUNDS * RELOAD_TIMEOUT_MS,
  );
});

it(
  "GitHub's document takes at most 150 MB of memory",
  async () => {
    const openapi = realDocument('github');
    const github = { targets: ['http://127.0.0.1:9'], openapi, scopes: ['api:any'] };
    const programs = await Promise.all([startTrailgate(), startTrailgate({ config: { services: { github } } })]);
    const [empty, large] = programs.map(
      ({ pid }) =>
        () =>
          residentBytes(pid),
    );
    // V8 gives the garbage of the start back when the process is idle.
    const isSmall = (): boolean => large!() - empty!() < MAX_MORE_BYTES;
    await eventually('garbage is given back', isSmall, SETTLED_MS);
    for (const program of programs) await program.stop();
  },
  2 * SETTLED_MS,
);

it('fifty changes of a small configuration leave no memory behind', async () => {
  const trailgate = await startTrailgate();
  const text = readFileSync(trailgate.configPath, 'utf8');
  const changed = () => trailgate.logs().filter(({ event }) => event === 'config_changed').length;
  const change = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time++) {
      const before = changed();
      writeFileSync(trailgate.configPath, text.replaceAll('127.0.0.1:9', `127.0.0.1:${9 + (time % 50)}`));
      trailgate.signal('SIGHUP');
      await eventually('it is in force', () => changed() > before);
    }
  };
  await change(10);
  const before = residentBytes(trailgate.pid);
  await change(40);
  expect(residentBytes(trailgate.pid) - before).toBeLessThan(50 * 1024 * 1024);
  await trailgate.stop();
});
