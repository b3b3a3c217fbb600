/** Invalid parameters are named once each, and the response has a bounded length. */
import { expect, it } from '@jest/globals';
import { invalidParameters, parametersOf, type ParameterError } from './parameter-problem.js';

function wrongIn(query: string): ParameterError[] {
  const errors: ParameterError[] = [];
  parametersOf(query, ['group_by', 'limit'], errors);
  return errors;
}

it('parameters are read from a query, with and without its question mark', () => {
  const errors: ParameterError[] = [];
  expect(parametersOf('?group_by=a%2Cb&limit=', ['group_by', 'limit'], errors)).toEqual({ group_by: 'a,b', limit: '' });
  expect(parametersOf('', ['group_by', 'limit'], errors)).toEqual({});
  expect(errors).toEqual([]);
});

it.each([
  ['groupBy=day', 'groupBy', 'is not known here, did you mean group_by?'],
  ['GROUP-BY=day', 'GROUP-BY', 'is not known here, did you mean group_by?'],
  ['offset=1', 'offset', 'is not known here, leave it out'],
  ['__proto__=1', '__proto__', 'is not known here, leave it out'],
  ['limit=1&limit=1', 'limit', 'must be given only once'],
  ['x=1&x=2&x=3', 'x', 'is not known here, leave it out'],
])('?%s reports %s once', (query, parameter, detail) => {
  expect(wrongIn(query)).toEqual([{ parameter, detail }]);
});

it('one sentence names all invalid parameters', () => {
  const problem = invalidParameters(wrongIn('groupBy=day&offset=1'));
  expect(problem).toMatchObject({ code: 'invalid_parameter', status: 400 });
  expect(problem.options.detail).toBe(
    'The query is not valid: groupBy is not known here, did you mean group_by?; offset is not known here, leave ' +
      'it out.',
  );
});

it('the response is bounded for any number and length of parameters', () => {
  const many = invalidParameters(wrongIn(Array.from({ length: 3_000 }, (_, index) => `p${index}=1`).join('&')));
  expect(many.options.errors).toHaveLength(50);
  expect(many.options.detail?.length).toBeLessThan(1_100);
  const long = invalidParameters(wrongIn(`${'x'.repeat(8_000)}=1`));
  expect(JSON.stringify(long.options).length).toBeLessThan(2_500);
});
