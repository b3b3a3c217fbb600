import { describe, expect, it } from '@jest/globals';
import { publicUrl } from './public-url.js';

describe('the public URL', () => {
  it.each<[string, Record<string, string>, string]>([
    ['nothing was forwarded', {}, '/customers'],
    ['a prefix was forwarded', { 'x-forwarded-prefix': '/api/v1' }, '/api/v1/customers'],
    [
      'everything was forwarded',
      { 'x-forwarded-prefix': '/api/v1', 'x-forwarded-host': 'api.example.com:8443', 'x-forwarded-proto': 'https' },
      'https://api.example.com:8443/api/v1/customers',
    ],
    [
      'several proxies forwarded',
      { 'x-forwarded-host': 'a.example, b', 'x-forwarded-proto': 'https,http' },
      'https://a.example/customers',
    ],
    [
      'the host is an IPv6 address',
      { 'x-forwarded-host': '[::1]:80', 'x-forwarded-proto': 'http' },
      'http://[::1]:80/customers',
    ],
    ['the scheme is missing', { 'x-forwarded-host': 'a.example' }, '/customers'],
    [
      'the scheme is none of ours',
      { 'x-forwarded-host': 'a.example', 'x-forwarded-proto': 'javascript' },
      '/customers',
    ],
    [
      'the host would break the Link field',
      { 'x-forwarded-host': 'a>; rel="x"', 'x-forwarded-proto': 'https' },
      '/customers',
    ],
    ['the prefix would change the host', { 'x-forwarded-prefix': '//evil.example' }, '/customers'],
  ])('when %s', (_, headers, expected) => {
    expect(publicUrl(headers, '/customers')).toBe(expected);
  });
});
