/**
 * The counting process: with `--workers` and without Redis, all processes of the gateway count here. It knows no
 * configuration and reads no database; what it holds it was told by them, and is told again when it is started anew
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
/** How often it looks whether it has waited long enough for what workers have to hand in. */
const LATE_INTERVAL_MS = 50;
/** Without the program it ends when nobody was connected for so long: longer than whoever connects again pauses. */
const ALONE_MS = 2_000;

/** How many workers have to hand in what another counted; where to listen; the folder whose counters these are. */
const [workers = '', path = '', dataDir = ''] = process.argv.slice(2);
const awaited = new AwaitedNodes(Number(workers));
const tables = new CountingTables(Date.now, awaited);
let release: ReleaseDataDir | undefined;
const server = new CommandServer(path, countingCommands(tables));

// A signal to all processes of a terminal or a service is for the program, which ends this one when nobody counts any
// more.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
process.on('disconnect', endWhenAlone);
process.on('message', (message: ToCounting) => tell({ type: 'alive', id: message.id }));
setInterval(() => tables.sweep(), SWEEP_INTERVAL_MS);
await listen();
// The program may have been killed before anybody listened to that.
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
    // Nobody else counts for this data, also when the program is gone and its workers still count here.
    if (dataDir !== '') release = lockCounters(dataDir);
    if (dataDir !== '' && release === undefined) throw new Error(`another process counts for ${dataDir}`);
    await server.listen();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    process.send?.({ type: 'failed', reason } satisfies FromCounting, undefined, undefined, () => process.exit(1));
    // Ends with that.
    await new Promise(() => undefined);
  }
}

function tell(message: FromCounting): void {
  // A program that is gone is noticed by `disconnect`.
  process.send?.(message, undefined, undefined, () => undefined);
}
