/** Whether a failed connection attempt is the fault of the peer or a shortage of this process. */
import { expect, it, jest } from '@jest/globals';
import { networkInterfaces } from 'node:os';
import { METRICS } from '../../platform/metrics.js';
import { SHORTAGES } from '../../platform/resources/shortages.js';
import { connectError } from './connect-error.js';

const failed = (code: string, more: object = { syscall: 'connect', address: '10.0.0.7' }): Error =>
  Object.assign(new Error(code), { code, ...more });

const shortageCount = (): number =>
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
])('%s is a shortage of this process and is recorded', (code, own) => {
  const before = shortageCount();
  expect(connectError(failed(code))).toMatchObject({ code: own });
  expect(shortageCount()).toBe(before + 1);
});

// Whether or not a descriptor has become free in the meantime.
it.each(['EMFILE', 'EBUSY'])('a lookup that could not open a file (%s) is a shortage of this process', (code) => {
  expect(connectError(failed(code, { syscall: 'getaddrinfo' }))).toMatchObject({ code: 'TRAILGATE_OUT_OF_RESOURCES' });
});

it.each(['ECONNREFUSED', 'EHOSTUNREACH', 'ETIMEDOUT', 'TRAILGATE_CONNECT_TIMEOUT', 'CERT_HAS_EXPIRED'])(
  '%s is returned unchanged',
  (code) => {
    const before = shortageCount();
    const error = failed(code);
    expect(connectError(error)).toBe(error);
    expect(shortageCount()).toBe(before);
  },
);

it.each(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'ENOENT'])(
  'a lookup that fails with %s is a shortage only if no file can be opened',
  (code) => {
    const error = failed(code, { syscall: 'getaddrinfo' });
    const before = shortageCount();
    const shortage = jest.spyOn(SHORTAGES, 'isOutOfDescriptors', 'get').mockReturnValue(false);
    expect(connectError(error)).toBe(error);
    shortage.mockReturnValue(true);
    expect(connectError(error)).toMatchObject({ code: 'TRAILGATE_OUT_OF_RESOURCES' });
    expect(shortageCount()).toBe(before + 1);
    shortage.mockRestore();
  },
);

it('an error on an open connection is not taken for a failed attempt to connect', () => {
  const error = failed('ENOBUFS', { syscall: 'write' });
  expect(connectError(error)).toBe(error);
});

it('if a name has several addresses, an error that is not a shortage takes precedence', () => {
  const refused = failed('ECONNREFUSED');
  const both = Object.assign(new AggregateError([failed('EADDRNOTAVAIL'), refused]), { code: 'EADDRNOTAVAIL' });
  expect(connectError(both)).toBe(refused);
  const none = Object.assign(new AggregateError([failed('EMFILE'), failed('EMFILE')]), { code: 'EMFILE' });
  expect(connectError(none)).toMatchObject({ code: 'TRAILGATE_OUT_OF_RESOURCES' });
});

it('an IPv6 address on a machine without IPv6 is not reported as a shortage of ports', () => {
  const error = failed('EADDRNOTAVAIL', { syscall: 'connect', address: '2001:db8::7' });
  const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ family }) => family === 'IPv6'));
  expect((connectError(error) as { code?: string }).code).toBe(hasIpv6 ? 'TRAILGATE_OUT_OF_PORTS' : 'EADDRNOTAVAIL');
});
