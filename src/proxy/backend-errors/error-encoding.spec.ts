/** Error bodies in every content coding that a backend may use. */
import { describe, expect, it } from '@jest/globals';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { errorText } from './error-encoding.js';

const TEXT = '{"message":"Jürgen is no e-mail address"}';
const LIMIT = 1_000;

describe('a compressed error body', () => {
  it.each<[string | undefined, (body: Buffer) => Buffer]>([
    [undefined, (body) => body],
    ['identity', (body) => body],
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['GZIP', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ])('in %s is read', (coding, compress) => {
    expect(errorText(compress(Buffer.from(TEXT)), coding, undefined, LIMIT)).toBe(TEXT);
  });

  it.each(['compress', 'gzip, br', 'constructor', ''])('in the unknown coding %p is ignored', (coding) => {
    expect(errorText(Buffer.from(TEXT), coding, undefined, LIMIT)).toBeUndefined();
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
    ['zstd', zstdCompressSync],
  ] as const)('in %s that expands beyond the limit is ignored, and takes little memory', (coding, compress) => {
    const bomb = compress(Buffer.alloc(5 * 1024 * 1024));
    const before = process.memoryUsage().arrayBuffers;
    expect(errorText(bomb, coding, undefined, LIMIT)).toBeUndefined();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1024 * 1024);
  });

  it('that is truncated or was never compressed is ignored', () => {
    expect(errorText(gzipSync(Buffer.from(TEXT)).subarray(0, 20), 'gzip', undefined, LIMIT)).toBeUndefined();
    expect(errorText(Buffer.from(TEXT), 'gzip', undefined, LIMIT)).toBeUndefined();
  });
});

describe('an error body in another charset than UTF-8', () => {
  it.each([
    ['application/json; charset=ISO-8859-1', Buffer.from(TEXT, 'latin1')],
    ['application/json;charset="utf-16le"', Buffer.from(TEXT, 'utf16le')],
    ['application/json; charset=utf-8', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(TEXT)])],
  ])('is read as %s', (contentType, body) => {
    expect(errorText(body, undefined, contentType, LIMIT)).toBe(TEXT);
  });

  it('is ignored if the charset is unknown', () => {
    expect(errorText(Buffer.from(TEXT), undefined, 'application/json; charset=martian', LIMIT)).toBeUndefined();
  });
});
