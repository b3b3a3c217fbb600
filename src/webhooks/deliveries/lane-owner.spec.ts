/** An owner counts as dead only if that is certain. */
import { spawnSync } from 'node:child_process';
import { expect, it } from '@jest/globals';
import { isDeadOwner, ownerName, processNamespace } from './lane-owner.js';

const HERE = 'boot/pid:[1]';
const ended = () => false;

it('an owner on this machine is dead when its process has ended', () => {
  expect(isDeadOwner(ownerName(HERE, 7), HERE, ended)).toBe(true);
  expect(isDeadOwner(ownerName(HERE, 7), HERE, (pid) => pid === 7)).toBe(false);
  const { pid } = spawnSync('true');
  expect(isDeadOwner(ownerName(HERE, pid), HERE)).toBe(true);
  expect(isDeadOwner(ownerName(HERE), HERE)).toBe(false);
});

it('an owner of another machine, another boot or an unknown place counts as alive', () => {
  for (const place of ['boot/pid:[2]', 'other/pid:[1]', null]) {
    expect(isDeadOwner(ownerName(place, 7), HERE, ended)).toBe(false);
    expect(isDeadOwner(ownerName(HERE, 7), place, ended)).toBe(false);
  }
  expect(isDeadOwner(ownerName(null, 7), null, ended)).toBe(false);
  expect(isDeadOwner('7-0a1b', HERE, ended)).toBe(false);
});

it('every start has its own owner name', () => {
  const place = processNamespace();
  expect(ownerName(place)).not.toBe(ownerName(place));
});
