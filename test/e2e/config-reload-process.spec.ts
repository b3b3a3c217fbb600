/** A changed configuration is checked in a separate process of lower priority. Nothing else depends on that process. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { json, startBackend, type Backend } from '../support/backend.js';
import { CHECK, childrenOf } from '../support/child-processes.js';
import { describeWithProc } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { largeOpenapi } from '../support/large-openapi.js';
import { quietMsSince } from '../support/machine-time.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';

/** Number of operations. High, so that a check takes a while. */
const OPERATIONS = 600;
/** Timeout of a reload. Long, because a check needs seconds of CPU time on shared cores. */
const RELOAD_TIMEOUT_MS = 120_000;

describeWithProc('the check of a changed configuration', () => {
  let backend: Backend;
  let trailgate: RunningTrailgate;
  let secret: string;

  const checks = (): number[] => childrenOf(trailgate.pid, CHECK);
  const events = (name: string) => trailgate.logs().filter(({ event }) => event === name);
  const title = async (): Promise<string> =>
    (await send(`${trailgate.gatewayUrl}/api/v1/openapi.json`)).json<{ info: { title: string } }>().info.title;
  /** Changes the title in the configuration and sends SIGHUP. */
  const rename = (to: string): void => {
    const config = parse(readFileSync(trailgate.configPath, 'utf8')) as { api: object };
    writeFileSync(trailgate.configPath, stringify({ ...config, api: { ...config.api, title: to } }));
    trailgate.signal('SIGHUP');
  };
  /** Waits until a check runs, and returns its process ID. */
  async function begun(): Promise<number> {
    await eventually('a check runs', () => checks().length === 1);
    return checks()[0]!;
  }
  const inForce = (name: string): Promise<void> =>
    eventually('the new title applies', async () => (await title()) === name, RELOAD_TIMEOUT_MS);

  beforeAll(async () => {
    backend = await startBackend(json({ ok: true }));
    trailgate = await startTrailgate({ backend: backend.url });
    ({ secret } = (await trailgate.admin.newKey('unlimited')).key);
  });
  afterAll(async () => {
    await trailgate?.stop();
    await backend?.stop();
  });

  it('lowers the priority of all its threads, runs once at a time, and the last change applies', async () => {
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, checks().length)), 50);
    try {
      writeFileSync(join(dirname(trailgate.configPath), 'backend.openapi.yaml'), stringify(largeOpenapi(OPERATIONS)));
      rename('First');
      const pid = await begun();
      const lower = getPriority(trailgate.pid) + 5;
      const threads = (): number[] => readdirSync(`/proc/${pid}/task`).map(Number);
      await eventually('all threads of the check have a lower priority', () =>
        threads().every((id) => getPriority(id) === lower),
      );
      for (const name of ['Second', 'Third']) rename(name);
      await inForce('Third');
    } finally {
      clearInterval(watch);
    }
    expect(most).toBe(1);
  });

  it('is logged as refused if its process is killed, requests are served, and the next check succeeds', async () => {
    rename('Fourth');
    // Killing an idle check process has no effect, because the next check starts another one. So try until a check
    // fails.
    const kill = (): boolean => {
      for (const pid of checks()) process.kill(pid, 'SIGKILL');
      return events('config_refused').length > 0;
    };
    await eventually('config_refused is logged', kill);
    expect(events('config_refused')[0]?.['problems']).toMatch(
      /^It could not be checked: its process was killed \(SIGKILL\)/,
    );
    expect(await (await fetch(`${trailgate.adminUrl}/metrics`)).text()).toMatch(
      /\ntrailgate_config_reloads_total\{result="refused"\} [1-9]\d*\n/,
    );
    const asked = send(`${trailgate.gatewayUrl}/api/v1/open`, { headers: { authorization: `Bearer ${secret}` } });
    expect((await asked).status).toBe(200);
    trailgate.signal('SIGHUP');
    await inForce('Fourth');
  });

  it('does not delay the shutdown of the program, and ends with it', async () => {
    const { length: refused } = events('config_refused');
    rename('Fifth');
    const pid = await begun();
    const from = performance.now();
    expect(await trailgate.stop()).toEqual({ code: 0, signal: null });
    expect(quietMsSince(from)).toBeLessThan(10_000);
    await eventually('the check process has ended', () => !existsSync(`/proc/${pid}`));
    expect(events('config_refused')).toHaveLength(refused);
    expect(events('crash')).toEqual([]);
  });
});
