/** An account with more keys than anybody looks through, and how long the panel takes with them. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext } from 'playwright-core';
import { startBrowser, type Browser } from './browser.js';
import { newPerson, panelUrlOf, signInThere } from './panel-people.js';
import { startTrailgate } from './program.js';

const STATUSES = ['active', 'active', 'active', 'active', 'paused'] as const;
/** Written as `searchText` writes these names. */
const nameOf = (index: number): string => `Raft widget ${String(index).padStart(5, '0')}`;

/** Writes keys into the SQLite file of a program that runs: by the admin API they would take minutes. Each is like `likeId`. */
export function insertKeys(dataDir: string, likeId: string, count: number): void {
  const database = new DatabaseSync(join(dataDir, 'trailgate.db'), { timeout: 30_000 });
  const like = database.prepare('select * from api_key where id = ?').get(likeId);
  if (like === undefined) throw new Error(`there is no key ${likeId}`);
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

/** KeyList is the page of an account with many keys, and somebody who has signed in to see it. */
export interface KeyList {
  readonly url: string;
  /** Writes more keys into the account. */
  add(more: number): void;
  readonly browser: Browser;
  stop(): Promise<void>;
}

/** Starts a program with so many keys in an account, and a browser of its owner. The caller stops both by `stop`. */
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

/** Notes when the list of keys can be used: it is there, painted, and the page has time to listen. */
const NOTE_WHEN_USABLE = `new MutationObserver((_changes, observer) => {
  if (document.querySelector('main tbody a') === null) return;
  observer.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.usableAtMs = performance.now(); }));
}).observe(document, { childList: true, subtree: true });`;

/** Opens the list in a new tab with nothing of it in the browser's cache. @returns How long until it could be used. */
export async function msUntilUsable(context: BrowserContext, url: string): Promise<number> {
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.clearBrowserCache');
  await page.addInitScript(NOTE_WHEN_USABLE);
  await page.goto(url, { waitUntil: 'commit' });
  // Not by a function of the page that waits: its policy lets nobody make one of text.
  let ms: number | null = null;
  while (ms === null) {
    // The page notes the time itself. Asking without a pause could slow it down.
    await sleep(ASK_EVERY_MS);
    ms = await page.evaluate<number | null>('window.usableAtMs ?? null').catch(() => null);
  }
  await page.close();
  return ms;
}

/** The one in the middle. */
export const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? NaN;
