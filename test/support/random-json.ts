/** Random JSON texts with numbers of every form, unusual Unicode and nesting, and a comparison of their contents. */
import fc from 'fast-check';

/** Numbers in JSON syntax, with any number of digits. */
export const NUMBER = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(fc.constant('0'), fc.bigInt({ min: 1n, max: 10n ** 40n }).map(String), fc.nat(1_000).map(String)),
    fc.option(fc.stringMatching(/^\d{1,25}$/), { nil: undefined }),
    fc.option(fc.stringMatching(/^[eE][+-]?\d{1,2}$/), { nil: undefined }),
  )
  .map(
    ([sign, whole, fraction, exponent]) =>
      `${sign}${whole}${fraction === undefined ? '' : `.${fraction}`}${exponent ?? ''}`,
  );

const space = fc.constantFrom('', '', '', ' ', '\n', '\t', '\r\n');
const escaped = fc.constantFrom('\\ud83d\\ude00', '\\u00e4', '\\\\ud83d', '\\/', '\\"', '\\u0000', '\\uFFFF');
const text = fc
  .array(fc.oneof(escaped, fc.string({ unit: 'binary' }).map(inJson), fc.string().map(inJson), NUMBER), {
    maxLength: 3,
  })
  .map((parts) => `"${parts.join('')}"`);

function inJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

/**
 * Excludes names that are refused, and names that end in a backslash. After one, V8 14 misreads a name such as `\"` in
 * the next object: after `JSON.parse('{"\\\\":1}')`, `JSON.parse('{"\\"":1}')` has the name `\` twice.
 */
function isName(name: string): boolean {
  return name !== '__proto__' && !name.endsWith('\\');
}

/** Documents that all parsers read alike, without lone surrogates and without duplicate names in an object. */
export const { document: DOCUMENT } = fc.letrec<{ document: string }>((tie) => {
  const spaced = fc.tuple(space, tie('document'), space).map((parts) => parts.join(''));
  return {
    document: fc.oneof(
      { maxDepth: 8 },
      NUMBER,
      text,
      fc.constantFrom('true', 'false', 'null'),
      fc.array(spaced, { maxLength: 6 }).map((items) => `[${items.join(',')}]`),
      fc
        .uniqueArray(fc.tuple(text, space, spaced), { maxLength: 6, selector: ([name]) => JSON.parse(name) as string })
        .map((members) => members.filter(([name]) => isName(JSON.parse(name) as string)))
        .map((members) => `{${members.map(([name, after, value]) => `${name}${after}:${value}`).join(',')}}`),
    ),
  };
});

/** Documents, as bytes, that are invalid or that parsers may read differently. */
export const BROKEN: fc.Arbitrary<Buffer> = fc
  .tuple(DOCUMENT, fc.constantFrom('half', 'late half', 'half name', 'twice', 'latin1', 'deep', 'cut', 'proto'))
  .map(([document, how]) => {
    if (how === 'half') return Buffer.from(`[${document},"a\\ud83d"]`);
    if (how === 'late half') return Buffer.from(`["\\uDe00b",${document}]`);
    if (how === 'half name') return Buffer.from(`{"\\ud83dx":${document}}`);
    if (how === 'twice') return Buffer.from(`{"a":${document},"\\u0061":1}`);
    if (how === 'latin1')
      return Buffer.concat([Buffer.from(`[${document},"J`), Buffer.from([0xf6]), Buffer.from('rg"]')]);
    if (how === 'deep') return Buffer.from(`${'['.repeat(70)}${document}${']'.repeat(70)}`);
    if (how === 'cut') return Buffer.from(`[${document}`);
    return Buffer.from(`{"__proto__":${document}}`);
  });

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null/gs;

/**
 * Returns the content of a document, independent of spaces, escapes and the order of members. `tokens` has each number
 * as written, and each string and name, sorted. `value` is the parsed document, in which numbers may be rounded.
 */
export function saidBy(json: string): { readonly tokens: readonly string[]; readonly value: unknown } {
  const tokens = Array.from(json.matchAll(TOKEN), ([token]) =>
    token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : token,
  );
  return { tokens: tokens.toSorted(), value: JSON.parse(json) };
}
