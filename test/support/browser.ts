/** A real Chromium for tests of the panel: a profile of its own, and a list of what went wrong in its pages. */
import { readFileSync, rmSync } from 'node:fs';
import { chromium, type BrowserContext, type Page } from 'playwright-core';
import { findChromium } from './servers.js';
import { temporaryFolder } from './processes.js';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** A busy machine is not what the tests test. */
const PATIENT_MS = 60_000;
const AXE = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');

const VIEWPORT = { width: 1_280, height: 860 };
const LOCALE = 'en-GB';

/** Runs in every page before its own scripts. */
const WATCH = `addEventListener('securitypolicyviolation', (event) =>
  console.error('policy violated: ' + event.effectiveDirective + ' ' + event.blockedURI + ' ' + event.sample));`;

/** How a browser is set up. */
export interface BrowserOptions {
  readonly locale?: string;
  readonly colorScheme?: 'light' | 'dark';
  readonly viewport?: { readonly width: number; readonly height: number };
  /** The zone of its clock; that of the machine where none is said. */
  readonly timezoneId?: string;
}

export interface Browser {
  readonly context: BrowserContext;
  /** The folder of what it keeps: cache, history, storage. It is written whole when the context is closed, and goes with `close`. */
  readonly profile: string;
  /** Errors of scripts and breaches of the Content-Security-Policy, so far. */
  readonly faults: readonly string[];
  newPage(): Promise<Page>;
  /** A browser of somebody else: no cookie, storage or cache of the first. */
  newContext(): Promise<BrowserContext>;
  close(): Promise<void>;
}

/** Starts one. The caller closes it. */
export async function startBrowser(options: BrowserOptions = {}): Promise<Browser> {
  const profile = temporaryFolder('chromium');
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: findChromium() ?? '',
    args: FLAGS,
    viewport: VIEWPORT,
    locale: LOCALE,
    timeout: PATIENT_MS,
    ...options,
  });
  const faults: string[] = [];
  await watch(context, faults);
  return {
    context,
    profile,
    faults,
    newPage: () => context.newPage(),
    async newContext() {
      const other = await context.browser()!.newContext({ viewport: VIEWPORT, locale: LOCALE, ...options });
      await watch(other, faults);
      return other;
    },
    async close() {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

async function watch(context: BrowserContext, faults: string[]): Promise<void> {
  context.setDefaultTimeout(PATIENT_MS);
  await context.addInitScript(WATCH);
  context.on('weberror', (error) => faults.push(String(error.error())));
  context.on('console', (message) => {
    if (message.text().startsWith('policy violated')) faults.push(message.text());
  });
}

/** What axe finds wrong with the page as it is, in words. */
export async function axeFindings(page: Page): Promise<string[]> {
  // What fades in has its colours when it is there.
  await page.waitForTimeout(400);
  await page.evaluate(AXE);
  return page.evaluate<string[]>(
    `axe.run().then(({ violations }) => violations.map(({ id, nodes }) =>
      id + ': ' + nodes.map(({ target, failureSummary }) => target + ' ' + failureSummary).join(' | ').slice(0, 600)))`,
  );
}
