/** docs/panel.md has a section and a screenshot for every page of the panel, and generated figures. */
import { expect, it } from '@jest/globals';
import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs';

const MAX_PICTURE_BYTES = 1_500_000;
const text = readFileSync('docs/panel.md', 'utf8');
const sections = new Map(text.split(/^## /m).map((section) => [section.split('\n')[0] ?? '', section]));
const pictures = (of: string) =>
  Array.from(of.matchAll(/!\[[^\]]{10,}\]\(panel\/([\w-]+\.webp)\)/g), ([, name]) => name);

/** Returns the titles of the pages in the navigation, and of the sign-in and profile pages. */
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

it('uses exactly the pictures in docs/panel, which are small, and README.md has one of them', () => {
  const files = readdirSync('docs/panel').toSorted();
  expect(pictures(text).toSorted()).toEqual(files);
  const bytes = files.map((name) => statSync(`docs/panel/${name}`).size);
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_PICTURE_BYTES);
  const [, inReadme = ''] = /\((docs\/panel\/[\w-]+\.webp)\)/.exec(readFileSync('README.md', 'utf8')) ?? [];
  expect(existsSync(inReadme)).toBe(true);
  expect(globSync('docs/*.png')).toEqual([]);
});

it('has measured figures with commit and date', () => {
  const [, figures = ''] = /<!-- figures: [^>]+-->([\s\S]*?)<!-- end of figures -->/.exec(text) ?? [];
  expect(figures).toMatch(/^Commit [0-9a-f]{7,}, \d{4}-\d\d-\d\d; /m);
  expect(figures.match(/\| [\d.,]+ (?:KB|ms) \|/g)).toHaveLength(6);
});
