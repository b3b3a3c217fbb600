/**
 * `npm run panel:figures`: measures the size and speed of the panel. `--write-docs` updates the table in
 * `docs/panel.md`.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import '../support/typescript-imports.mjs';

process.env.TMPDIR = mkdtempSync(join(tmpdir(), 'trailgate-figures-'));
const { startBrowser } = await import('../support/browser.ts');
const { startDemo } = await import('../support/demo.ts');
const { insertKeys, median, msUntilUsable } = await import('../support/many-keys.ts');

const DOCS = fileURLToPath(new URL('../../docs/panel.md', import.meta.url));
const PANEL = fileURLToPath(new URL('../../dist/panel/', import.meta.url));
const BEGIN = '<!-- figures: written by `npm run panel:figures -- --write-docs` -->';
const END = '<!-- end of figures -->';
const KEYS = 10_000;
const ATTEMPTS = 5;

/** Returns the files that the first page loads, from Vite's manifest. */
function firstFiles() {
  const manifest = JSON.parse(readFileSync(join(PANEL, '.vite/manifest.json'), 'utf8'));
  const [scripts, styles] = [new Set(), new Set()];
  const load = (name) => {
    const chunk = manifest[name];
    if (chunk === undefined || scripts.has(chunk.file)) return;
    scripts.add(chunk.file);
    for (const file of chunk.css ?? []) styles.add(file);
    for (const each of chunk.imports ?? []) load(each);
  };
  // The list of keys is the page where users start. It has its own chunk.
  for (const name of ['index.html', 'locales/en.po', 'api-keys/keys-page.tsx']) load(name);
  return { scripts, styles };
}

const kilobytes = (files) => {
  const bytes = [...files].reduce(
    (sum, file) => sum + gzipSync(readFileSync(join(PANEL, file)), { level: 9 }).length,
    0,
  );
  return `${(bytes / 1_000).toFixed(1)} KB`;
};
const ms = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;

/** Returns the median response time of the admin API for a path, in ms, measured in the page. */
async function medianResponseMs(page, path) {
  const all = await page.evaluate(`(async () => {
    const all = [];
    for (let attempt = 0; attempt < ${ATTEMPTS * 4}; attempt++) {
      const begun = performance.now();
      await (await fetch(${JSON.stringify(path)}, { cache: 'no-store' })).json();
      all.push(performance.now() - begun);
    }
    return all;
  })()`);
  return median(all);
}

async function measure(demo, browser) {
  const page = await browser.newPage();
  await page.goto(demo.link);
  await page.getByRole('button', { name: 'Continue to dashboard' }).click();
  await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
  const list = new URL(page.url());
  const api = `/admin/v1/accounts/${list.pathname.split('/')[1]}/api-keys`;
  const { data } = await page.evaluate(`fetch('${api}?limit=1').then((response) => response.json())`);
  insertKeys(demo.dataDir, data[0].id, KEYS - 1);
  const usable = [];
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) usable.push(await msUntilUsable(browser.context, list.href));
  return {
    usable: median(usable),
    first: await medianResponseMs(page, `${api}?limit=50&sort=created&order=desc&status=active,paused`),
    search: await medianResponseMs(page, `${api}?limit=50&q=widget+09&status=active,paused`),
    nothing: await medianResponseMs(page, `${api}?limit=50&q=nothing+is+called+so`),
  };
}

const [demo, browser] = await Promise.all([startDemo(), startBrowser()]);
try {
  const [load = 0] = loadavg();
  const measured = await measure(demo, browser);
  const { scripts, styles } = firstFiles();
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  const chromium = /Chrom\w+\/([\d.]+)/.exec(browser.context.browser()?.version() ?? '')?.[1];
  const version = chromium ?? browser.context.browser()?.version();
  const machine = `${cpus()[0]?.model}, ${cpus().length} processors, Linux ${release()}`;
  const rows = [
    ['scripts of the list of keys, compressed (gzip)', kilobytes(scripts)],
    ['its styles, compressed (gzip)', kilobytes(styles)],
    [`list of ${KEYS.toLocaleString('en')} keys: until it can be used, nothing in the cache`, ms(measured.usable)],
    ['the API’s response with its first 50 keys', ms(measured.first)],
    ['a search by name', ms(measured.search)],
    ['a search that finds nothing', ms(measured.nothing)],
  ];
  const text = [
    `Commit ${commit}, ${new Date().toISOString().slice(0, 10)}; ${machine}; Chromium ${version}; SQLite; load ${load.toFixed(1)} at the start. Times are medians.`,
    ['| what | |', '| --- | ---: |', ...rows.map(([what, value]) => `| ${what} | ${value} |`)].join('\n'),
  ].join('\n\n');
  console.log(text);
  if (process.argv.includes('--write-docs')) {
    const page = readFileSync(DOCS, 'utf8');
    const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
    if (from < 0 || to < from) throw new Error('docs/panel.md does not contain the markers of the figures.');
    writeFileSync(DOCS, `${page.slice(0, from)}${BEGIN}\n\n${text}\n\n${page.slice(to)}`);
  }
} finally {
  await browser.close();
  await demo.stop();
  rmSync(process.env.TMPDIR, { recursive: true, force: true });
}
