/** CHANGELOG.md has the format of Keep a Changelog 1.1.0, for people and programs. */
import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';

const GROUPS = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
/** `[Unreleased]`, or `[1.2.3] - 2026-11-22`. */
const VERSION = /^\[(?:Unreleased\]|\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?\] - \d{4}-\d\d-\d\d)$/;

interface Version {
  readonly title: string;
  readonly groups: readonly { readonly name: string; readonly text: string }[];
}

function readVersions(text: string): Version[] {
  const [, ...versions] = text.split(/^## /m);
  return versions.map((version) => {
    const [title = '', ...groups] = version.split(/^### /m);
    return {
      title: title.trim(),
      groups: groups.map((group) => {
        const end = group.indexOf('\n');
        return { name: group.slice(0, end), text: group.slice(end).trim() };
      }),
    };
  });
}

/** Returns the errors in a changelog, or an empty list. */
function faultsOf(text: string): string[] {
  const versions = readVersions(text);
  const released = versions.some(({ title }) => /^\[\d/.test(title));
  return [
    ...(versions[0]?.title === '[Unreleased]' ? [] : ['the first part is not [Unreleased]']),
    ...versions.flatMap(({ title, groups }) => {
      const names = groups.map(({ name }) => name);
      const inOrder = GROUPS.filter((name) => names.includes(name));
      return [
        ...(VERSION.test(title) ? [] : [`"${title}" is not a version with a date`]),
        ...(names.join() === inOrder.join() ? [] : [`${title} has the groups ${names.join(', ')}`]),
        ...groups.filter(({ text: lines }) => !lines.includes('- ')).map(({ name }) => `${title} ${name} is empty`),
        // Before the first release, nothing can be fixed, changed or removed.
        ...(released ? [] : names.filter((name) => name !== 'Added').map((name) => `${name} before the first release`)),
      ];
    }),
  ];
}

describe('CHANGELOG.md', () => {
  const text = readFileSync('CHANGELOG.md', 'utf8');

  it('has versions with dates, groups in order, and only additions before the first release', () => {
    expect(faultsOf(text)).toEqual([]);
  });

  it.each([
    ['a group of another name', '## [Unreleased]\n\n### Added\n\n- a\n\n### Bugs\n\n- b\n'],
    ['groups in another order', '## [Unreleased]\n\n### Fixed\n\n- a\n\n### Added\n\n- b\n'],
    ['a fix before the first version', '## [Unreleased]\n\n### Added\n\n- a\n\n### Fixed\n\n- b\n'],
    ['an empty group', '## [Unreleased]\n\n### Added\n\n'],
    ['a version without a date', '## [Unreleased]\n\n## [1.0.0]\n\n### Added\n\n- a\n'],
    ['no part for what comes next', '## [1.0.0] - 2026-12-01\n\n### Added\n\n- a\n'],
  ])('cannot have %s', (_what, wrong) => {
    expect(faultsOf(`# Changelog\n\n${wrong}`)).not.toEqual([]);
  });

  it('can have every group once a version is released', () => {
    const groups = GROUPS.map((name) => `### ${name}\n\n- something\n`).join('\n');
    expect(faultsOf(`## [Unreleased]\n\n${groups}\n## [1.0.0] - 2026-12-01\n\n### Added\n\n- a\n`)).toEqual([]);
  });
});
