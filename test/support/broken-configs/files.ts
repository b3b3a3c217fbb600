/** Broken configurations: files that are missing, are not regular files, are not UTF-8 text, or are too large. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withLines, RIGHT, service, type BrokenConfig } from './broken-config.js';

const at = (folder: string, name = 'gateway.yaml') => join(folder, name);
const utf16 = (text: string) => Buffer.from(`\u{feff}${text}`, 'utf16le');
/** A "billion laughs" document: a list of nine values, then eight lists that each repeat the list before nine times. */
const BILLION_LAUGHS = [
  'a: &a [1,1,1,1,1,1,1,1,1]',
  ...[...'bcdefghi'].map((name, index) => {
    const before = String.fromCharCode(97 + index);
    return `${name}: &${name} [${Array<string>(9).fill(`*${before}`).join()}]`;
  }),
].join('\n');

export const FILES: readonly BrokenConfig[] = [
  ['no file', {}, '1:1', 'there is no such file', 'looked for /'],
  ['a folder', (folder) => mkdirSync(at(folder)), '1:1', 'it is a folder', 'name the file in it'],
  [
    'a named pipe, to which nobody writes',
    (folder) => execFileSync('mkfifo', [at(folder)]),
    '1:1',
    'named pipe',
    'regular file',
  ],
  [
    'a device that never ends',
    (folder) => symlinkSync('/dev/zero', at(folder)),
    '1:1',
    'it is a device',
    'regular file',
  ],
  ['links in a circle', (folder) => symlinkSync('gateway.yaml', at(folder)), '1:1', 'lead in a circle', 'looked for'],
  [
    'a link to nothing',
    (folder) => symlinkSync('nothing.yaml', at(folder)),
    '1:1',
    'there is no such file',
    'looked for',
  ],
  [
    'a file whose first page cannot be read',
    (folder) => symlinkSync('/proc/self/mem', at(folder)),
    '1:1',
    'cannot be read',
    '',
  ],
  ['nothing in it', '', '1:1', 'is empty', '`services` and `plans`'],
  ['white space only', '\n \n\n', '1:1', 'is empty', '`services` and `plans`'],
  ['comments only', '# services:\n#   shop: {}\n', '1:1', 'is empty', '`services` and `plans`'],
  ['a mark of its beginning only', '---\n', '1:4', 'is empty', '`services` and `plans`'],
  ['UTF-16 with its mark', { 'gateway.yaml': utf16(RIGHT) }, '1:1', 'is UTF-16, not UTF-8', 'iconv -f UTF-16'],
  ['UTF-16, the other way round', { 'gateway.yaml': utf16(RIGHT).swap16() }, '1:1', 'is UTF-16, not UTF-8', 'iconv'],
  [
    'UTF-16 without a mark',
    { 'gateway.yaml': Buffer.from(RIGHT, 'utf16le') },
    '1:1',
    'is UTF-16LE',
    'iconv -f UTF-16LE',
  ],
  ['UTF-32', { 'gateway.yaml': Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]) }, '1:1', 'is UTF-32', 'iconv'],
  [
    'Latin-1',
    { 'gateway.yaml': Buffer.from(withLines('api: { title: Bücher }'), 'latin1') },
    '8:16',
    'is not UTF-8: the byte 0xFC',
    'iconv -f LATIN1',
  ],
  [
    'a character that is cut at the end',
    { 'gateway.yaml': Buffer.concat([Buffer.from(RIGHT), Buffer.from([0xe2, 0x82])]) },
    '8:1',
    'is not UTF-8',
    'UTF-8',
  ],
  [
    'a wrong byte behind characters that stand for one',
    { 'gateway.yaml': Buffer.concat([Buffer.from(withLines('# \u{fffd}\u{fffd} ')), Buffer.from([0xff])]) },
    '9:1',
    'the byte 0xFF',
    'UTF-8',
  ],
  ['NUL', withLines('api: { title: "a\0b" }'), '8:17', 'U+0000', 'remove it'],
  ['NUL at the very end', `${RIGHT}\0`, '8:1', 'U+0000', 'remove it'],
  ['an escape sequence of a terminal', withLines('api: { title: "\u001b[31mred" }'), '8:16', 'U+001B', 'remove it'],
  ['a second byte-order mark, as joined files have one', `${RIGHT}\u{feff}api: {}\n`, '8:1', 'U+FEFF', 'remove it'],
  [
    'a compressed file',
    { 'gateway.yaml': Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]) },
    '1:2',
    'is not UTF-8',
    'UTF-8',
  ],
  [
    'two mebibytes',
    { 'gateway.yaml': RIGHT + '# \n'.repeat(700_000) },
    '1:1',
    'it has 2 MiB, and at most 1 MiB are read',
    'all of it',
  ],
  [
    'a million events',
    withLines(`events: [${'a.b,'.repeat(1_000_000)}]`),
    '1:1',
    'at most 1 MiB are read',
    'all of it',
  ],
  [
    'more events than a file may have values',
    withLines(`events: [${'a.b,'.repeat(200_000)}]`),
    '8:266558',
    'more than 200000 tokens',
    'all of it',
  ],
  [
    'many events',
    withLines(`events: [${'a.b,'.repeat(20_000)}]`),
    '8:1',
    'at most 1000 entries, not 20000',
    'Event types that backends can send',
  ],
  [
    'many keys that nobody knows',
    Array.from({ length: 5_000 }, (_, index) => `key${index}: 1`).join('\n'),
    '1:1',
    'unknown key `key0`',
    'known here',
  ],
  ['many empty lines', '\n'.repeat(1_000_000), '200002:1', 'more than 200000 tokens', 'all of it'],
  ['a key of half a mebibyte', `${'k'.repeat(500_000)}: 1\n`, '1:1', 'a key of more than 1024 characters', 'colons'],
  [
    'a number of half a mebibyte',
    withLines(`gateway: { port: ${'9'.repeat(500_000)} }`),
    '8:18',
    'must be',
    'Port to listen on',
  ],
  [
    'brackets that are never closed',
    withLines(`events: ${'['.repeat(100_000)}`),
    '8:210',
    'more than 200 maps and lists',
    'never closed',
  ],
  [
    'brackets that are closed',
    withLines(`events: ${'['.repeat(50_000)}${']'.repeat(50_000)}`),
    '8:210',
    'more than 200 maps',
    'never closed',
  ],
  [
    'lists in lists in one line',
    withLines(`events:\n${'- '.repeat(10_000)}a`),
    '9:402',
    'more than 200 maps and lists',
    'never closed',
  ],
  [
    'maps in maps',
    withLines(Array.from({ length: 300 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')),
    '209:203',
    'more than 200',
    'never closed',
  ],
  ['aliases of aliases: billion laughs', BILLION_LAUGHS, '6:11', 'repeat more than 200000 values', 'write out'],
  [
    'many aliases of much',
    withLines(`x: &x [${'1,'.repeat(10_000)}]\ny: [${'*x,'.repeat(10_000)}]`),
    '9:62',
    'repeat more than 200000',
    'write out',
  ],
  [
    'merges of merges',
    `a: &a { ${Array.from({ length: 2_000 }, (_, index) => `k${index}: 1`).join()} }\nb: [${'{ <<: *a },'.repeat(2_000)}]\n`,
    '2:550',
    'repeat more than 200000',
    'write out',
  ],
  [
    'many operations that nothing describes',
    `services: { shop: { targets: [http://127.0.0.1:1], openapi: ./api.yaml } }\nplans: {}\noperations:\n${Array.from({ length: 5_000 }, (_, index) => `  - { match: GET /orders/${index}/x }\n`).join('')}`,
    '1:61',
    'cannot be read',
    'looked for',
  ],
  [
    'a document that is a folder',
    (folder) => {
      mkdirSync(at(folder, 'docs'));
      writeFileSync(at(folder), service('openapi: ./docs'));
    },
    '4:14',
    'the OpenAPI document ./docs cannot be read: it is a folder',
    'name the file in it',
  ],
  [
    'a document that is not there',
    service('openapi: ./api.yaml'),
    '4:14',
    './api.yaml cannot be read: there is no such file',
    'looked for /',
  ],
  [
    'a document that is a named pipe',
    (folder) => {
      execFileSync('mkfifo', [at(folder, 'api.yaml')]);
      writeFileSync(at(folder), service('openapi: ./api.yaml'));
    },
    '4:14',
    'it is a named pipe',
    'regular file',
  ],
  ['a document without end', service('openapi: /dev/zero'), '4:14', 'it is a device', 'regular file'],
  [
    'a document below a file',
    { 'gateway.yaml': service('openapi: ./api.yaml/x'), 'api.yaml': '' },
    '4:14',
    'a part of its path is a file',
    'looked for',
  ],
  [
    'a document with a long name',
    service(`openapi: ./${'x'.repeat(5_000)}`),
    '4:14',
    'its name is too long',
    'shorter',
  ],
  [
    'a document with NUL in its name',
    service('openapi: "./a\\0.yaml"'),
    '4:14',
    'control character U+0000',
    'remove the escape',
  ],
  [
    'a document at a URL',
    service('openapi: https://shop.example.com/openapi.json'),
    '4:14',
    'is a URL, and a document is read from a file',
    'save the document',
  ],
  ['a document at a URL of a file', service('openapi: file:///etc/openapi.yaml'), '4:14', 'is a URL', './openapi.yaml'],
  [
    'a document of 20 mebibytes',
    { 'gateway.yaml': service('openapi: ./api.yaml'), 'api.yaml': `openapi: 3.1.0\n${'# \n'.repeat(7_000_000)}` },
    '4:14',
    'and at most 16 MiB are read',
    'right file',
  ],
  [
    'a document of a million values',
    { 'gateway.yaml': service('openapi: ./api.yaml'), 'api.yaml': `openapi: 3.1.0\ntags: [${'a,'.repeat(1_000_000)}]` },
    'api.yaml:2:1333333',
    'more than 2000000 tokens',
    'all of it',
  ],
];
