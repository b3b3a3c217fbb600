/**
 * The counting process: with `--workers` and without Redis, all processes of the gateway count here. It reads neither
 * configuration nor database. The workers send it all counts, and send them again after it is restarted (decision
 * 0044).
 */
import { lockCounters, type ReleaseDataDir } from '../../stores/database/data-lock.js';
import { CommandServer } from '../../stores/redis/server/command-server.js';
import { countingCommands } from './counting-commands.js';
import type { FromCounting, ToCounting } from './counting-messages.js';
import { CountingTables } from './counting-tables.js';
import { AwaitedNodes } from './awaited-nodes.js';
import { LUA_HASH } from './lua.js';
import { removeSocketFolder } from './socket-folder.js';

const SWEEP_INTERVAL_MS = 1_000;
/** How often it checks whether it has waited long enough for the workers' reports. */
const LATE_INTERVAL_MS = 50;
/**
 * If the program is gone, the process exits when no client was connected for this long. Longer than clients pause
 * before they reconnect.
 */
const ALONE_MS = 2_000;

/** Number of workers that must report earlier counts; path of the socket; data folder that owns the counters. */
const [workers = '', path = '', dataDir = ''] = process.argv.slice(2);
const awaited = new AwaitedNodes(Number(workers));
const tables = new CountingTables(Date.now, awaited);
let release: ReleaseDataDir | undefined;
const server = new CommandServer(path, countingCommands(tables));

// Signals to a terminal's or a service's whole process group are for the program. It ends this process when nothing
// counts any more.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
process.on('disconnect', endWhenAlone);
process.on('message', (message: ToCounting) => tell({ type: 'alive', id: message.id }));
setInterval(() => tables.sweep(), SWEEP_INTERVAL_MS);
await listen();
// The program may have died before the listener for `disconnect` existed.
if (!process.connected) endWhenAlone();
tell({ type: 'listening', lua: LUA_HASH });
const waiting = setInterval(() => {
  const missing = awaited.endIfLate();
  if (missing === undefined) return;
  clearInterval(waiting);
  if (missing > 0) tell({ type: 'incomplete', missing });
}, LATE_INTERVAL_MS);

function endWhenAlone(): void {
  server.onceAlone(ALONE_MS, () => {
    removeSocketFolder(path);
    release?.();
    process.exit();
  });
}

async function listen(): Promise<void> {
  try {
    // The lock prevents a second counting process for this data, even if the program is gone and its workers still
    // count here.
    if (dataDir !== '') release = lockCounters(dataDir);
    if (dataDir !== '' && release === undefined) throw new Error(`another process counts for ${dataDir}`);
    await server.listen();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    process.send?.({ type: 'failed', reason } satisfies FromCounting, undefined, undefined, () => process.exit(1));
    // Wait for the exit.
    await new Promise(() => undefined);
  }
}

function tell(message: FromCounting): void {
  // `disconnect` reports a dead program.
  process.send?.(message, undefined, undefined, () => undefined);
}
