/** Matching of event types by the list of an endpoint. */
import { expect, it } from '@jest/globals';
import { wantsType } from './fan-out.js';

it.each([
  ['customer.created', [], true],
  ['customer.created', ['customer.created'], true],
  ['customer.created', ['customer.deleted', 'customer.*'], true],
  ['customer.address.changed', ['customer.*'], true],
  ['customers.created', ['customer.*'], false],
  ['customer', ['customer.*'], false],
  ['customer.created', ['customer'], false],
  ['customer.created', ['customer.create'], false],
])('%s matches %j: %s', (type, patterns, wanted) => {
  expect(wantsType(patterns, type)).toBe(wanted);
});
