/** A real Chromium for tests of the panel: a profile of its own, and a list of what went wrong in its pages. */
import { readFileSync, rmSync } from 'node:fs';
import { chromium, type BrowserContext, type Page, type Request } from 'playwright-core';
import { findChromium } from './servers.js';
import { eventually, sleep, temporaryFolder } from './processes.js';

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
  /** Whether things move; they do, unless said. */
  readonly reducedMotion?: 'reduce' | 'no-preference';
}

/** In which nothing moves: whoever presses a button in a dialog need not wait until it stands still. */
export const STILL: BrowserOptions = { reducedMotion: 'reduce' };

/** Longer than any request of the panel takes: of one that is older the end was not told, as happens to cancelled ones. */
const LOST_MS = 20_000;

/** The requests of the pages of a context. */
class Requests {
  begun = 0;
  /** With when they began, by `performance.now()`. */
  private readonly underWay = new Map<Request, number>();

  constructor(context: BrowserContext) {
    context.on('request', (request) => {
      this.begun += 1;
      this.underWay.set(request, performance.now());
    });
    context.on('requestfinished', (request) => this.underWay.delete(request));
    context.on('requestfailed', (request) => this.underWay.delete(request));
  }

  /** Whether a page waits for one; what a page asked for that is closed is never told the end of. */
  isAskedBy(page: Page): boolean {
    const oldest = performance.now() - LOST_MS;
    return [...this.underWay].some(([request, begunMs]) => begunMs > oldest && request.frame().page() === page);
  }
}

const requestsOf = new WeakMap<BrowserContext, Requests>();
/** So many looks in a row at which nothing was under way, and these far apart: what is read may ask for more. */
const CALM_LOOKS = 3;
const LOOK_PAUSE_MS = 40;
/** When the page has done what it had to do. */
const IDLE = 'new Promise((done) => requestIdleCallback(() => done(), { timeout: 2_000 }))';

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
  requestsOf.set(context, new Requests(context));
  await context.addInitScript(WATCH);
  context.on('weberror', (error) => faults.push(String(error.error())));
  context.on('console', (message) => {
    if (message.text().startsWith('policy violated')) faults.push(message.text());
  });
}

/** Waits until a page has read what it shows: nothing is asked for, and nothing follows from what was. */
export async function hasRead(page: Page): Promise<void> {
  const requests = requestsOf.get(page.context());
  if (requests === undefined) throw new Error('the page is of another browser');
  let calm = 0;
  let { begun } = requests;
  await eventually(
    'the page has read all',
    async () => {
      await page.evaluate(IDLE);
      const isCalm = !requests.isAskedBy(page) && requests.begun === begun;
      ({ begun } = requests);
      calm = isCalm ? calm + 1 : 0;
      await sleep(LOOK_PAUSE_MS);
      return calm >= CALM_LOOKS;
    },
    PATIENT_MS,
  );
}

/** Whether a page is wider than its window. */
export const scrollsSideways = (page: Page): Promise<boolean> =>
  page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');

/** What fades in has its colours when it is there, where anything does. */
const FADE_MS = 400;
const IS_STILL = `matchMedia('(prefers-reduced-motion: reduce)').matches`;

/** What axe finds wrong with the page as it is, in words. */
export async function axeFindings(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>(IS_STILL))) await page.waitForTimeout(FADE_MS);
  await page.evaluate(AXE);
  return page.evaluate<string[]>(
    `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) =>
      id + ': ' + nodes.map(({ target, failureSummary }) => target + ' ' + failureSummary).join(' | ').slice(0, 600)))`,
  );
}
