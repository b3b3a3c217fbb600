/** Matching of event types by an endpoint's list. */
import { expect, it } from '@jest/globals';
import { wantsType } from './event-patterns.js';

it.each([
  ['customer.created', [], true],
  ['customer.created', ['customer.created'], true],
  ['customer.created', ['customer.deleted', 'customer.*'], true],
  ['customer.address.changed', ['customer.*'], true],
  ['customers.created', ['customer.*'], false],
  ['customer', ['customer.*'], false],
  ['customer.created', ['customer'], false],
  ['customer.created', ['customer.create'], false],
])('%s by %j: %s', (type, patterns, wanted) => {
  expect(wantsType(patterns, type)).toBe(wanted);
});
