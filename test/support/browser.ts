/** A real Chromium for tests of the panel: contexts of their own for each, and a list of what went wrong in their pages. */
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
/** Flags of Playwright that matter to a page. A browser that we start ourselves needs them too. */
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
/** A busy machine is not what the tests test. */
const PATIENT_MS = 60_000;
const AXE = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');

/** Nothing moves: a button in a dialog can be pressed at once, and the processor draws no frames in between. */
const DEFAULTS = { viewport: { width: 1_280, height: 860 }, locale: 'en-GB', reducedMotion: 'reduce' } as const;

/** Runs in every page before its own scripts. */
const WATCH = `addEventListener('securitypolicyviolation', (event) =>
  console.error('policy violated: ' + event.effectiveDirective + ' ' + event.blockedURI + ' ' + event.sample));`;

/** A dialog blurs the page behind it. Without a graphics card that is nine tenths of what a processor draws. */
const NO_BLUR = `document.addEventListener('DOMContentLoaded', () => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('* { backdrop-filter: none !important }');
  document.adoptedStyleSheets.push(sheet);
});`;

/** How the contexts of a browser are set up, where not as in `DEFAULTS`. */
export interface BrowserOptions extends Pick<
  BrowserContextOptions,
  'locale' | 'colorScheme' | 'viewport' | 'timezoneId' | 'reducedMotion'
> {
  /** Whether dialogs look as users see them: for pictures. */
  readonly blur?: boolean;
}

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
/** Ends when the page has drawn what it shows, done what it had to do, and what followed from that without a request. */
const IDLE = `(async () => {
  for (let round = 0; round < 2; round++) {
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const moving = document.getAnimations().filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity);
    await Promise.allSettled(moving.map(({ finished }) => finished));
    await new Promise((done) => requestIdleCallback(() => done(), { timeout: 200 }));
  }
})()`;

export interface Browser {
  readonly context: BrowserContext;
  /** Errors of scripts and breaches of the Content-Security-Policy, so far. */
  readonly faults: readonly string[];
  newPage(): Promise<Page>;
  /** A browser of somebody else: no cookie, storage or cache of the first. */
  newContext(): Promise<BrowserContext>;
  close(): Promise<void>;
}

/** A Chromium that runs until this process ends. */
interface SharedChromium {
  readonly program: OwnedProcess;
  /** Address of its debugging interface. */
  readonly address: Promise<string>;
}

/** A start takes a second of a processor: all test files of a worker have this one, each with contexts of its own. */
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

/** Connects to the Chromium of this process. The caller closes it, and with it its contexts; Chromium stays. */
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

/** Starts a Chromium that writes all it keeps into the folder: cache, history, storage. The folder goes with `close`. */
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

/** Waits until a page has read what it shows: nothing is asked for, and nothing follows from what was. */
export async function hasRead(page: Page): Promise<void> {
  const requests = requestsOf.get(page.context());
  if (requests === undefined) throw new Error('the page is of another browser');
  await eventually(
    'the page has read all',
    async () => {
      if (requests.isAskedBy(page)) return false;
      const { begun } = requests;
      await page.evaluate(IDLE);
      return requests.begun === begun && !requests.isAskedBy(page);
    },
    PATIENT_MS,
  );
}

/** Goes to an address of the panel that is open, as its own links do: nothing is loaded anew. */
export const goWithin = (page: Page, url: string): Promise<void> =>
  page.evaluate(`history.pushState(null, '', ${JSON.stringify(url)})`);

/**
 * Turns the clock of a page on until something is seen, where the page itself waits: before it asks once more, or reads again. The clock is
 * the test's after `page.clock.install()`, and goes by itself as well.
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

/** Whether a page is wider than its window. */
export const scrollsSideways = (page: Page): Promise<boolean> =>
  page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');

/** Returns what axe finds on the page, as text. */
export async function axeFindings(page: Page): Promise<string[]> {
  if (await page.evaluate<boolean>(`typeof axe === 'undefined'`)) await page.evaluate(AXE);
  return page.evaluate<string[]>(
    `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) =>
      id + ': ' + nodes.map(({ target, failureSummary }) => target + ' ' + failureSummary).join(' | ').slice(0, 600)))`,
  );
}
