/**
 * Runs Chromium for tests of the panel. Each browser has its own contexts, and collects script errors and policy
 * violations.
 */
import { readFileSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { chromium, type BrowserContext, type BrowserContextOptions, type Page, type Request } from 'playwright-core';
import { findChromium } from './servers.js';
import { eventually, spawnOwned, temporaryFolder, type OwnedProcess } from './processes.js';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** Playwright's flags that affect pages. A browser that this module starts itself needs them too. */
const SHARED_FLAGS = [
  ...FLAGS,
  '--headless',
  '--hide-scrollbars',
  '--mute-audio',
  '--disable-back-forward-cache',
  '--disable-backgrounding-occluded-windows',
  '--disable-background-timer-throttling',
  '--disable-renderer-backgrounding',
  '--disable-dev-shm-usage',
  '--disable-extensions',
  '--disable-hang-monitor',
  '--disable-ipc-flooding-protection',
  '--disable-popup-blocking',
  '--disable-prompt-on-repost',
  '--allow-pre-commit-input',
  '--force-color-profile=srgb',
  '--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4',
  '--password-store=basic',
  '--remote-debugging-port=0',
];
/** Timeout for every step. It is long, so that a busy machine does not fail a test. */
const PATIENT_MS = 60_000;
const AXE = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');

/**
 * Defaults of a context. Reduced motion lets tests click buttons in dialogs at once, and saves the CPU from drawing
 * frames.
 */
const DEFAULTS = { viewport: { width: 1_280, height: 860 }, locale: 'en-GB', reducedMotion: 'reduce' } as const;

/** Script that runs in every page before the page's own scripts. Logs violations of the Content-Security-Policy. */
const WATCH = `addEventListener('securitypolicyviolation', (event) =>
  console.error('policy violated: ' + event.effectiveDirective + ' ' + event.blockedURI + ' ' + event.sample));`;

/**
 * Script that removes the blur behind dialogs. Without a graphics card, the blur takes 90% of the CPU time for drawing.
 */
const NO_BLUR = `document.addEventListener('DOMContentLoaded', () => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('* { backdrop-filter: none !important }');
  document.adoptedStyleSheets.push(sheet);
});`;

/** Context options that replace `DEFAULTS`. */
export interface BrowserOptions extends Pick<
  BrowserContextOptions,
  'locale' | 'colorScheme' | 'viewport' | 'timezoneId' | 'reducedMotion'
> {
  /** If true, dialogs blur the page behind them, as users see it. For screenshots. */
  readonly blur?: boolean;
}

/**
 * Age in ms after which a request counts as ended. No request of the panel takes this long, but Playwright does not
 * report the end of some canceled requests.
 */
const LOST_MS = 20_000;

/** Tracks the requests of all pages of a context. */
class Requests {
  /** Number of requests so far. */
  begun = 0;
  /** Start times of pending requests, by `performance.now()`. */
  private readonly underWay = new Map<Request, number>();

  constructor(context: BrowserContext) {
    context.on('request', (request) => {
      this.begun += 1;
      this.underWay.set(request, performance.now());
    });
    context.on('requestfinished', (request) => this.underWay.delete(request));
    context.on('requestfailed', (request) => this.underWay.delete(request));
  }

  /** Reports whether a page waits for a request. Ignores requests older than `LOST_MS`. */
  isAskedBy(page: Page): boolean {
    const oldest = performance.now() - LOST_MS;
    return [...this.underWay].some(([request, begunMs]) => begunMs > oldest && request.frame().page() === page);
  }
}

const requestsOf = new WeakMap<BrowserContext, Requests>();
/**
 * Script that waits until a page is idle: frames are drawn, animations are finished and idle callbacks have run, twice.
 */
const IDLE = `(async () => {
  for (let round = 0; round < 2; round++) {
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const moving = document.getAnimations().filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity);
    await Promise.allSettled(moving.map(({ finished }) => finished));
    await new Promise((done) => requestIdleCallback(() => done(), { timeout: 200 }));
  }
})()`;

/** A browser with one open context. The test must close it. */
export interface Browser {
  readonly context: BrowserContext;
  /** Script errors and violations of the Content-Security-Policy so far, in all contexts. */
  readonly faults: readonly string[];
  newPage(): Promise<Page>;
  /** Creates a context that shares no cookies, storage or cache with the first. For a second user. */
  newContext(): Promise<BrowserContext>;
  close(): Promise<void>;
}

/** A Chromium process that runs until this process ends. */
interface SharedChromium {
  readonly program: OwnedProcess;
  /** Address of its debugging interface. */
  readonly address: Promise<string>;
}

/** Chromium process that all test files of a worker share, because a start takes a second of CPU time. */
let shared: SharedChromium | undefined;

function sharedChromium(): SharedChromium {
  if (shared?.program.isRunning() !== true) {
    const folder = `--user-data-dir=${temporaryFolder('chromium')}`;
    const program = spawnOwned(findChromium() ?? '', [...SHARED_FLAGS, folder, 'about:blank'], { detached: true });
    shared = { program, address: addressOf(program) };
  }
  return shared;
}

async function addressOf({ child, isRunning }: OwnedProcess): Promise<string> {
  const lines: string[] = [];
  if (child.stderr !== null) createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  const address = () => /DevTools listening on (ws:\S+)/.exec(lines.join('\n'))?.[1];
  await eventually(
    'Chromium listens',
    () => {
      if (!isRunning()) throw new Error(`Chromium ended:\n${lines.join('\n')}`);
      return address() !== undefined;
    },
    PATIENT_MS,
  );
  return address()!;
}

/**
 * Connects to the shared Chromium and creates a context. The caller must close the browser, which closes its contexts
 * but not Chromium.
 */
export async function startBrowser(options: BrowserOptions = {}): Promise<Browser> {
  const address = await sharedChromium().address;
  const connected = await chromium.connectOverCDP(address, { timeout: PATIENT_MS });
  const newContext = async () => {
    const context = await connected.newContext({ ...DEFAULTS, ...options });
    if (options.blur !== true) await context.addInitScript(NO_BLUR);
    return context;
  };
  return browserOf(await newContext(), newContext, () => connected.close());
}

/**
 * Starts a separate Chromium that stores its cache, history and other data in a folder. The caller must close it.
 * `close` deletes the folder.
 */
export async function startOwnBrowser(profile: string): Promise<Browser> {
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: findChromium() ?? '',
    args: FLAGS,
    timeout: PATIENT_MS,
    ...DEFAULTS,
  });
  const newContext = () => context.browser()!.newContext(DEFAULTS);
  return browserOf(context, newContext, async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  });
}

async function browserOf(
  context: BrowserContext,
  newContext: () => Promise<BrowserContext>,
  close: () => Promise<void>,
): Promise<Browser> {
  const faults: string[] = [];
  await watch(context, faults);
  return {
    context,
    faults,
    newPage: () => context.newPage(),
    async newContext() {
      const other = await newContext();
      await watch(other, faults);
      return other;
    },
    close,
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

/** Waits until a page has loaded its data: no request is pending, and none follows when the page becomes idle. */
export async function hasRead(page: Page): Promise<void> {
  const requests = requestsOf.get(page.context());
  if (requests === undefined) throw new Error('the page belongs to another browser');
  await eventually(
    'the page has loaded all data',
    async () => {
      if (requests.isAskedBy(page)) return false;
      const { begun } = requests;
      await page.evaluate(IDLE);
      return requests.begun === begun && !requests.isAskedBy(page);
    },
    PATIENT_MS,
  );
}

/** Navigates within the open panel, as its links do, without reloading the page. */
export const goWithin = (page: Page, url: string): Promise<void> =>
  page.evaluate(`history.pushState(null, '', ${JSON.stringify(url)})`);

/**
 * Advances the clock of a page until a condition holds, for pages that wait before they poll or retry. Requires
 * `page.clock.install()`. The clock also runs by itself.
 * @param what name of the condition for the error message
 * @param stepMs step of the clock in milliseconds
 */
export async function passTimeUntil(
  page: Page,
  what: string,
  isSo: () => Promise<boolean>,
  stepMs = 1_000,
): Promise<void> {
  await eventually(what, async () => {
    if (await isSo()) return true;
    await page.clock.runFor(stepMs);
    return false;
  });
}

/** Reports whether a page is wider than its window. */
export const scrollsSideways = (page: Page): Promise<boolean> =>
  page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');

/** Returns the accessibility violations that axe finds on the page, as text. */
export async function axeFindings(page: Page): Promise<string[]> {
  if (await page.evaluate<boolean>(`typeof axe === 'undefined'`)) await page.evaluate(AXE);
  return page.evaluate<string[]>(
    `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) =>
      id + ': ' + nodes.map(({ target, failureSummary }) => target + ' ' + failureSummary).join(' | ').slice(0, 600)))`,
  );
}
