/** The last file descriptors are reserved and not available to clients. */
import { expect, it } from '@jest/globals';
import { FileDescriptors } from './file-descriptors.js';
import { METRICS } from '../metrics.js';

const limitsFile = (soft: string): string =>
  'Limit                     Soft Limit           Hard Limit           Units     \nMax open files            ' +
  `${soft}                 4096                 files     \n`;

async function descriptorsWith(soft: string): Promise<FileDescriptors> {
  const descriptors = new FileDescriptors(async () => limitsFile(soft));
  await descriptors.refresh();
  return descriptors;
}

it.each([
  ['64', 56],
  ['1024', 896],
  ['1048576', 1_047_552],
])('with a limit of %s, all but an eighth (at most 1,024) are for clients: %i', async (soft, forClients) => {
  const descriptors = await descriptorsWith(soft);
  expect(descriptors.forClients).toBe(forClients);
  expect([descriptors.isReserved(forClients - 1), descriptors.isReserved(forClients)]).toEqual([false, true]);
});

it('none is reserved if there is no limit or it is unknown', async () => {
  expect((await descriptorsWith('unlimited')).isReserved(1e9)).toBe(false);
  const elsewhere = new FileDescriptors(() => Promise.reject(Object.assign(new Error('no'), { code: 'ENOENT' })));
  await elsewhere.refresh();
  expect(elsewhere.isReserved(1e9)).toBe(false);
});

it('a check that finds no free descriptor is recorded, and the last limit stays', async () => {
  let limits = Promise.resolve(limitsFile('1024'));
  const descriptors = new FileDescriptors(() => limits);
  await descriptors.refresh();
  const series = METRICS.outOfResources.series('file_descriptors');
  const before = series.value;
  limits = Promise.reject(Object.assign(new Error('EMFILE'), { code: 'EMFILE' }));
  await descriptors.refresh();
  expect([series.value, descriptors.limit]).toEqual([before + 1, 1_024]);
});
