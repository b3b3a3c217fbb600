/** Creates an account with many keys, and measures how fast the panel lists them. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext } from 'playwright-core';
import { startBrowser, type Browser } from './browser.js';
import { newPerson, panelUrlOf, signInThere } from './panel-people.js';
import { startTrailgate } from './program.js';

const STATUSES = ['active', 'active', 'active', 'active', 'paused'] as const;
/** Returns the name of a key. In lower case, it equals its `searchText`. */
const nameOf = (index: number): string => `Raft widget ${String(index).padStart(5, '0')}`;

/**
 * Inserts copies of a key directly into the SQLite file of a running program. The admin API would take minutes.
 * @param likeId ID of the key to copy
 */
export function insertKeys(dataDir: string, likeId: string, count: number): void {
  const database = new DatabaseSync(join(dataDir, 'trailgate.db'), { timeout: 30_000 });
  const like = database.prepare('select * from api_key where id = ?').get(likeId);
  if (like === undefined) throw new Error(`the key ${likeId} does not exist`);
  const columns = Object.keys(like);
  const places = columns.map(() => '?').join(', ');
  const insert = database.prepare(`insert into api_key (${columns.join(', ')}) values (${places})`);
  database.exec('begin immediate');
  for (let index = 1; index <= count; index++) {
    const name = nameOf(index);
    const own: Readonly<Record<string, string | number>> = {
      id: `${likeId.slice(0, -6)}${String(index).padStart(6, '0')}`,
      name,
      search: name.toLowerCase(),
      status: STATUSES[index % STATUSES.length] ?? 'active',
      created_at: Number(like['created_at']) - index * 60_000,
    };
    insert.run(...columns.map((column) => own[column] ?? like[column] ?? null));
  }
  database.exec('commit');
  database.close();
}

/** KeyList is the page of an account with many keys, and a browser in which its owner is signed in. */
export interface KeyList {
  readonly url: string;
  /** Inserts more keys into the account. */
  add(more: number): void;
  readonly browser: Browser;
  stop(): Promise<void>;
}

/** Starts a program with `count` keys in one account, and a browser. The caller must call `stop`, which ends both. */
export async function startKeyList(count: number): Promise<KeyList> {
  const [trailgate, browser] = await Promise.all([startTrailgate(), startBrowser()]);
  const { account, key } = await trailgate.admin.newKey('starter', { name: 'First', scopes: ['customers:read'] });
  insertKeys(trailgate.dataDir, key.id, count - 1);
  const person = await newPerson(trailgate, account.id, 'owner');
  await signInThere(browser.context, person, panelUrlOf(trailgate));
  return {
    url: `${panelUrlOf(trailgate)}/${account.id}/api-keys`,
    add: (more) => insertKeys(trailgate.dataDir, key.id, more),
    browser,
    async stop() {
      await browser.close();
      await trailgate.stop();
    },
  };
}

const ASK_EVERY_MS = 50;

/** Script that records when the list of keys is usable: rendered, painted, and with an idle event loop. */
const NOTE_WHEN_USABLE = `new MutationObserver((_changes, observer) => {
  if (document.querySelector('main tbody a') === null) return;
  observer.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.usableAtMs = performance.now(); }));
}).observe(document, { childList: true, subtree: true });`;

/**
 * Opens the list in a new tab with an empty browser cache.
 * @returns the time in ms until the list was usable
 */
export async function msUntilUsable(context: BrowserContext, url: string): Promise<number> {
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.clearBrowserCache');
  await page.addInitScript(NOTE_WHEN_USABLE);
  await page.goto(url, { waitUntil: 'commit' });
  // Poll instead of using `page.waitForFunction`, because the page's policy forbids creating functions from text.
  let ms: number | null = null;
  while (ms === null) {
    // The page records the time itself. Pause between polls, so that they do not slow the page down.
    await sleep(ASK_EVERY_MS);
    ms = await page.evaluate<number | null>('window.usableAtMs ?? null').catch(() => null);
  }
  await page.close();
  return ms;
}

/** Returns the median; for an even number of values, the larger of the two middle values. */
export const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? NaN;
