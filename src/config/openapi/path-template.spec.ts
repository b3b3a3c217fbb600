/** Path templates that can be published, and those that cannot. */
import { describe, expect, it } from '@jest/globals';
import { templateParameters, templateFault, templateShape } from './path-template.js';

describe('templateFault', () => {
  it.each([
    '/',
    '/a',
    '/a/',
    '/a/{id}',
    '/a/{id}/b:archive',
    '/a/{id}:b',
    '/a/{b}...{c}',
    '/v{n}/a',
    '/.well-known/x',
    "/a-b_c~d!$&'()+,=:@",
  ])('accepts %s', (template) => {
    expect(templateFault(template)).toBeUndefined();
  });

  it.each([
    '',
    'a',
    '//',
    '/a//b',
    '/a//',
    '/./a',
    '/a/..',
    '/{a}{b}',
    '/{a}.{a}',
    '/{a',
    '/{a}}',
    '/{a}.{b:int}',
    '/{}',
    '/{a}/{a}',
    '/a%2fb',
    '/a b',
    '/a;v=1',
    '/a?b',
    '/a#b',
    '/é',
    '/a\\b',
    '/orders/*',
    '/a*',
    '/**',
    '/:id',
    '/{id:int}',
    '/{rest*}',
    '/{proxy+}',
    '/{id?}',
  ])('refuses %j', (template) => {
    expect(templateFault(template)).toMatchObject({ message: expect.any(String), hint: expect.any(String) });
  });
});

describe('templateShape', () => {
  it('is equal for templates that differ only in parameter names', () => {
    expect(templateShape('/a/{id}/b/{x}')).toBe(templateShape('/a/{key}/b/{y}'));
    expect(templateShape('/a/{id}')).not.toBe(templateShape('/a/id'));
    expect(templateParameters('/a/{id}/b/{x}')).toEqual(['id', 'x']);
  });
});
