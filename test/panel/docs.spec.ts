/** docs/panel.md has every page of the panel and a picture of each, and figures that a command wrote. */
import { expect, it } from '@jest/globals';
import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs';

const MAX_PICTURE_BYTES = 1_500_000;
const text = readFileSync('docs/panel.md', 'utf8');
const sections = new Map(text.split(/^## /m).map((section) => [section.split('\n')[0] ?? '', section]));
const pictures = (of: string) =>
  Array.from(of.matchAll(/!\[[^\]]{10,}\]\(panel\/([\w-]+\.webp)\)/g), ([, name]) => name);

/** Returns the titles of the pages in the navigation and beside it. */
function pageTitles(): string[] {
  const list = readFileSync('src/panel/routes/page-list.ts', 'utf8');
  const labels = Array.from(list.matchAll(/label: msg`([^`]+)`/g), ([, label = '']) => label);
  return [...labels, 'Sign in', 'Your profile'];
}

it('has a section with a picture for every page', () => {
  const titles = pageTitles();
  expect(titles.length).toBeGreaterThan(8);
  const without = titles.filter((title) => pictures(sections.get(title) ?? '').length === 0);
  expect(without).toEqual([]);
});

it('has every picture that is there, README’s among them, and no other; they are small', () => {
  const files = readdirSync('docs/panel').toSorted();
  expect(pictures(text).toSorted()).toEqual(files);
  const bytes = files.map((name) => statSync(`docs/panel/${name}`).size);
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_PICTURE_BYTES);
  const [, inReadme = ''] = /\((docs\/panel\/[\w-]+\.webp)\)/.exec(readFileSync('README.md', 'utf8')) ?? [];
  expect(existsSync(inReadme)).toBe(true);
  expect(globSync('docs/*.png')).toEqual([]);
});

it('has the figures of a measurement', () => {
  const [, figures = ''] = /<!-- figures: [^>]+-->([\s\S]*?)<!-- end of figures -->/.exec(text) ?? [];
  expect(figures).toMatch(/^Commit [0-9a-f]{7,}, \d{4}-\d\d-\d\d; /m);
  expect(figures.match(/\| [\d.,]+ (?:KB|ms) \|/g)).toHaveLength(6);
});
