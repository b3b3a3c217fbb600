/** Doc comments name their subject first, and sentences are short. The counts in `prose-floor.json` can only fall. */
import { describe, expect, it } from '@jest/globals';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { docComments, hidesSubject, longSentences, MAX_WORDS } from './support/prose.js';

const FLOOR = 'test/prose-floor.json';

/** Allowed numbers of findings by folder or page. All others must have none. */
interface Floor {
  readonly hiddenSubjects: Readonly<Record<string, number>>;
  readonly longSentences: Readonly<Record<string, number>>;
}

const floor = JSON.parse(readFileSync(FLOOR, 'utf8')) as Floor;
const sources = globSync('{scripts,src,test}/**/*.{mjs,ts,tsx}', {
  exclude: ['src/panel/api/admin-api.d.ts', 'test/generated-clients/**', '**/node_modules/**'],
});
const pages = [...globSync('*.md'), ...globSync('docs/**/*.md')];

/** Returns the findings of a rule in doc comments by folder. For example, `src/quota/limiter.ts` is in `src/quota`. */
function findInComments(rule: (comment: string) => readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const file of sources) {
    const room = file.split('/').slice(0, 2).join('/');
    const texts = docComments(readFileSync(file, 'utf8')).flatMap(rule);
    found.set(room, [...(found.get(room) ?? []), ...texts.map((text) => `${file}: ${text}`)]);
  }
  return found;
}

/** Returns the findings of each folder or page that has more than the floor allows. */
function exceeding(found: ReadonlyMap<string, readonly string[]>, allowed: Readonly<Record<string, number>>) {
  return Object.fromEntries([...found].filter(([name, texts]) => texts.length > (allowed[name] ?? 0)));
}

/** Returns the floor, lowered to the current findings. */
function lowered(found: ReadonlyMap<string, readonly string[]>, allowed: Readonly<Record<string, number>>) {
  const counts = Object.entries(allowed).map(([name, count]): [string, number] => [
    name,
    Math.min(count, found.get(name)?.length ?? 0),
  ]);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

describe(`the counts in ${FLOOR} (TRAILGATE_TEST_WRITE=1 lowers them)`, () => {
  const hidden = findInComments((comment) => (hidesSubject(comment) ? [comment] : []));
  const long = findInComments(longSentences);
  for (const page of pages) long.set(page, longSentences(readFileSync(page, 'utf8')));
  if (process.env['TRAILGATE_TEST_WRITE'] === '1') {
    const next: Floor = {
      hiddenSubjects: lowered(hidden, floor.hiddenSubjects),
      longSentences: lowered(long, floor.longSentences),
    };
    writeFileSync(FLOOR, `${JSON.stringify(next, null, 2)}\n`);
  }

  it('are not exceeded by doc comments that hide their subject', () => {
    expect(hidden.size).toBeGreaterThan(20);
    expect(exceeding(hidden, floor.hiddenSubjects)).toEqual({});
  });

  it(`are not exceeded by sentences of more than ${MAX_WORDS} words`, () => {
    expect(long.size).toBeGreaterThan(100);
    expect(exceeding(long, floor.longSentences)).toEqual({});
  });
});

describe('the prose rules', () => {
  const words = (count: number): string => Array.from({ length: count }, (_, i) => `word${i}`).join(' ');

  it('find comments that hide their subject, and no others', () => {
    const source = '/** What it does. */\n/**\n * Whoever\n * calls.\n */\n/** Whatever. */\n/* Of a part. */\n';
    expect(docComments(source).filter(hidesSubject)).toEqual(['What it does.', 'Whoever\ncalls.']);
  });

  it('find sentences of 26 words across lines, in lists and within paragraphs', () => {
    const long = `A${words(25)}`;
    expect(longSentences(`Short one. ${long} and end. Short one.`)).toHaveLength(1);
    expect(longSentences(`- ${words(13)}\n  ${words(13)}\n- ${words(13)}`)).toHaveLength(1);
    expect(longSentences(`A ${words(25)}.`)).toHaveLength(1);
  });

  it('allow 25 words after the type of a JSDoc tag', () => {
    const tag = `@param {{ name: string, run: () => { ${words(20)} } }} options`;
    expect(longSentences(`${tag} ${words(23)}.`)).toEqual([]);
    expect(longSentences(`${tag} ${words(24)}.`)).toHaveLength(1);
  });

  it('allow 25 words, headings, tables and code', () => {
    const block = `\`\`\`\n${words(30)}\n\`\`\``;
    const generated = `<!-- a: written by \`x\` -->\n${words(30)}\n<!-- end of a -->`;
    const texts = [`${words(25)}.`, `# ${words(30)}`, `| ${words(30)} |`, `\`${words(30)}\``, block, generated];
    expect(texts.flatMap(longSentences)).toEqual([]);
  });
});
