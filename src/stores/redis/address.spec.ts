/** Forms of REDIS_URL, and error messages for wrong ones. */
import { describe, expect, it } from '@jest/globals';
import { parseRedisUrl } from './address.js';

describe('REDIS_URL', () => {
  it.each([
    ['redis://127.0.0.1:6379/2', { mode: 'standalone', url: 'redis://127.0.0.1:6379/2' }],
    [
      'redis+sentinel://a:26380,b/mymaster',
      {
        mode: 'sentinel',
        hosts: [
          { host: 'a', port: 26_380 },
          { host: 'b', port: 26_379 },
        ],
        masterName: 'mymaster',
        db: 0,
        tls: false,
      },
    ],
    [
      'rediss+sentinel://tg:p%40ss:x@a/m/3?sentinelPassword=s',
      {
        mode: 'sentinel',
        hosts: [{ host: 'a', port: 26_379 }],
        masterName: 'm',
        db: 3,
        username: 'tg',
        password: 'p@ss:x',
        tls: true,
        sentinelPassword: 's',
      },
    ],
    [
      'redis+cluster://:secret@10.0.0.1:7000,[::1]:7001/',
      {
        mode: 'cluster',
        hosts: [
          { host: '10.0.0.1', port: 7_000 },
          { host: '::1', port: 7_001 },
        ],
        password: 'secret',
        tls: false,
      },
    ],
  ])('reads %s', (url, address) => {
    expect(parseRedisUrl(url)).toEqual(address);
  });

  it.each([
    ['http://a', 'should look like'],
    ['redis+sentinel://a:1', 'names no master'],
    ['redis+sentinel://a:1/m/x', 'database as a number'],
    ['redis+sentinel:///m', 'names no host'],
    ['redis+sentinel://a/m?role=slave', 'not known: role'],
    ['redis+cluster://a:99999', 'not host:port: "a:99999"'],
    ['redis+cluster://a:1,,b:1', 'not host:port: ""'],
    ['redis+cluster://a:1/0', 'has no databases'],
  ])('%s is rejected with an explanation', (url, words) => {
    expect(() => parseRedisUrl(url)).toThrow(words);
  });

  it('is rejected without showing its password', () => {
    expect(() => parseRedisUrl('redis+cluster://:hunter2@a:x')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
    );
  });
});
