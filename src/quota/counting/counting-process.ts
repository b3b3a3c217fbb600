/**
 * Runs the counting process. With `--workers` and without Redis, all processes of the gateway count in this process. It
 * reads neither configuration nor database. When it is restarted, the workers send it the counts that they know
 * (decision 0044).
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
/** Interval at which the process checks whether it has waited long enough for the workers' reports. */
const LATE_INTERVAL_MS = 50;
/**
 * Time without any client after which the process exits, once the program has ended. Longer than clients pause before
 * they reconnect.
 */
const ALONE_MS = 2_000;

/**
 * Arguments are the number of workers that must report earlier counts, the socket's path, and the data folder of the
 * counters.
 */
const [workers = '', path = '', dataDir = ''] = process.argv.slice(2);
const awaited = new AwaitedNodes(Number(workers));
const tables = new CountingTables(Date.now, awaited);
let release: ReleaseDataDir | undefined;
const server = new CommandServer(path, countingCommands(tables));

// Terminals and service managers send signals to the whole process group. Ignore them here. The program reacts to
// signals. This process exits when the program has disconnected and no worker is connected any more.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
process.on('disconnect', exitWhenUnused);
process.on('message', (message: ToCounting) => sendMessage({ type: 'alive', id: message.id }));
setInterval(() => tables.sweep(), SWEEP_INTERVAL_MS);
await listen();
// The program may have died before the listener for `disconnect` existed.
if (!process.connected) exitWhenUnused();
sendMessage({ type: 'listening', lua: LUA_HASH });
const waiting = setInterval(() => {
  const missing = awaited.endIfLate();
  if (missing === undefined) return;
  clearInterval(waiting);
  if (missing > 0) sendMessage({ type: 'incomplete', missing });
}, LATE_INTERVAL_MS);

function exitWhenUnused(): void {
  server.onceAlone(ALONE_MS, () => {
    removeSocketFolder(path);
    release?.();
    process.exit();
  });
}

async function listen(): Promise<void> {
  try {
    // The lock prevents a second counting process for this data, even if the program has ended and its workers still
    // use this process.
    if (dataDir !== '') release = lockCounters(dataDir);
    if (dataDir !== '' && release === undefined) throw new Error(`another process counts for ${dataDir}`);
    await server.listen();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    process.send?.({ type: 'failed', reason } satisfies FromCounting, undefined, undefined, () => process.exit(1));
    // Never continue: the process exits when the message is sent.
    await new Promise(() => undefined);
  }
}

function sendMessage(message: FromCounting): void {
  // Ignore errors. If the program has died, `disconnect` reports that.
  process.send?.(message, undefined, undefined, () => undefined);
}
