/** Signals to npm reach the program that npm runs. Supervisors and shells only know the npm process. */
import { describe, expect, it } from '@jest/globals';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { eventually, freePort, spawnOwned, temporaryFolder } from '../support/processes.js';
import { writeConfig } from '../support/program-config.js';

interface RunByNpm {
  readonly pid: number;
  readonly exited: Promise<unknown>;
  readonly logs: () => readonly Record<string, unknown>[];
  readonly livez: () => Promise<boolean>;
}

/** Runs a script of package.json in its own process group, as in a terminal. Waits until the program listens. */
async function runByNpm(script: readonly string[]): Promise<RunByNpm> {
  const folder = temporaryFolder('npm');
  const config = writeConfig(folder, { targets: ['http://127.0.0.1:9'] });
  const [adminPort, customersPort] = [await freePort(), await freePort()];
  const npm = spawnOwned('npm', ['run', '--silent', ...script, '--config', config], {
    detached: true,
    env: {
      PATH: process.env['PATH'] ?? '',
      TRAILGATE_DATA_DIR: join(folder, 'data'),
      TRAILGATE_ADMIN_TOKEN: 'operator-token-of-the-tests-0123456789',
      TRAILGATE_ADMIN_PORT: String(adminPort),
      TRAILGATE_CUSTOMERS_PORT: String(customersPort),
    },
  });
  const lines: Record<string, unknown>[] = [];
  createInterface({ input: npm.child.stdout! }).on('line', (line) => {
    if (line.startsWith('{')) lines.push(JSON.parse(line) as Record<string, unknown>);
  });
  npm.child.stderr!.resume();
  await eventually('the program listens', () => {
    if (!npm.isRunning()) throw new Error('npm ended');
    return lines.some(({ event, role }) => event === 'listening' && role === 'gateway');
  });
  const livez = () =>
    fetch(`http://127.0.0.1:${adminPort}/livez`).then(
      () => true,
      () => false,
    );
  return { pid: npm.pid, exited: npm.exited, logs: () => lines, livez };
}

/** Expects a graceful shutdown, with its last phase in the log. */
async function expectGracefulEnd({ pid, exited, logs, livez }: RunByNpm): Promise<void> {
  try {
    await exited;
    await eventually('the program ends', async () => !(await livez()), 10_000);
    const phases = logs().flatMap(({ event, phase }) => (event === 'shutdown_phase' ? [phase] : []));
    expect(phases).toContain('release data folder');
    expect(new Set(phases).size).toBe(phases.length);
  } finally {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // Fails with ESRCH when all processes of the group have ended.
    }
  }
}

describe('a signal to npm', () => {
  it.each([[['start', '--']], [['start:prod', '--']], [['trailgate', '--', 'start']]])(
    'shuts the program down gracefully: npm run %j',
    async (script) => {
      const run = await runByNpm(script);
      process.kill(run.pid, 'SIGTERM');
      await expectGracefulEnd(run);
    },
  );

  it('that a terminal sends to both processes, and npm forwards, shuts down gracefully once', async () => {
    const run = await runByNpm(['trailgate', '--', 'start']);
    process.kill(-run.pid, 'SIGINT');
    await expectGracefulEnd(run);
  });
});
