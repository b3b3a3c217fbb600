/** Whose fault it is that a connection could not be opened. */
import { expect, it, jest } from '@jest/globals';
import { networkInterfaces } from 'node:os';
import { METRICS } from '../../platform/metrics.js';
import { SHORTAGES } from '../../platform/resources/shortages.js';
import { connectError } from './connect-error.js';

const failed = (code: string, more: object = { syscall: 'connect', address: '10.0.0.7' }): Error =>
  Object.assign(new Error(code), { code, ...more });

const noted = (): number =>
  ['file_descriptors', 'ports', 'memory'].reduce(
    (sum, resource) => sum + METRICS.outOfResources.series(resource as 'ports').value,
    0,
  );

it.each([
  ['EMFILE', 'TRAILGATE_OUT_OF_RESOURCES'],
  ['ENFILE', 'TRAILGATE_OUT_OF_RESOURCES'],
  ['ENOBUFS', 'TRAILGATE_OUT_OF_RESOURCES'],
  ['ENOMEM', 'TRAILGATE_OUT_OF_RESOURCES'],
  ['EADDRNOTAVAIL', 'TRAILGATE_OUT_OF_PORTS'],
])('%s is our own and is noted', (code, own) => {
  const before = noted();
  expect(connectError(failed(code))).toMatchObject({ code: own });
  expect(noted()).toBe(before + 1);
});

// Whether the descriptor is there again meanwhile, or not.
it.each(['EMFILE', 'EBUSY'])('a look-up for which no file could be opened (%s) is our own', (code) => {
  expect(connectError(failed(code, { syscall: 'getaddrinfo' }))).toMatchObject({ code: 'TRAILGATE_OUT_OF_RESOURCES' });
});

it.each(['ECONNREFUSED', 'EHOSTUNREACH', 'ETIMEDOUT', 'TRAILGATE_CONNECT_TIMEOUT', 'CERT_HAS_EXPIRED'])(
  '%s stays what it is',
  (code) => {
    const before = noted();
    const error = failed(code);
    expect(connectError(error)).toBe(error);
    expect(noted()).toBe(before);
  },
);

it.each(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'ENOENT'])(
  'a look-up that fails with %s is our own where no file can be opened, and else stays what it is',
  (code) => {
    const error = failed(code, { syscall: 'getaddrinfo' });
    const before = noted();
    const shortage = jest.spyOn(SHORTAGES, 'isOutOfDescriptors', 'get').mockReturnValue(false);
    expect(connectError(error)).toBe(error);
    shortage.mockReturnValue(true);
    expect(connectError(error)).toMatchObject({ code: 'TRAILGATE_OUT_OF_RESOURCES' });
    expect(noted()).toBe(before + 1);
    shortage.mockRestore();
  },
);

it('what fails on a connection that stands is not taken for one that could not be opened', () => {
  const error = failed('ENOBUFS', { syscall: 'write' });
  expect(connectError(error)).toBe(error);
});

it('of several addresses of a name, one that failed for a reason of its own is believed', () => {
  const refused = failed('ECONNREFUSED');
  const both = Object.assign(new AggregateError([failed('EADDRNOTAVAIL'), refused]), { code: 'EADDRNOTAVAIL' });
  expect(connectError(both)).toBe(refused);
  const none = Object.assign(new AggregateError([failed('EMFILE'), failed('EMFILE')]), { code: 'EMFILE' });
  expect(connectError(none)).toMatchObject({ code: 'TRAILGATE_OUT_OF_RESOURCES' });
});

it('an IPv6 address that a machine without IPv6 cannot reach has not run us out of ports', () => {
  const error = failed('EADDRNOTAVAIL', { syscall: 'connect', address: '2001:db8::7' });
  const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ family }) => family === 'IPv6'));
  expect((connectError(error) as { code?: string }).code).toBe(hasIpv6 ? 'TRAILGATE_OUT_OF_PORTS' : 'EADDRNOTAVAIL');
});
