import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockCounters, lockDataDir } from '../../src/stores/database/data-lock.js';

describe('the lock of the data folder', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'trailgate-lock-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Starts another process that holds the lock until it is killed. */
  async function otherHolder() {
    const source = `
      const { DatabaseSync } = require('node:sqlite');
      const { writeFileSync } = require('node:fs');
      const database = new DatabaseSync(process.argv[1] + '/trailgate.lock');
      database.exec('begin exclusive');
      writeFileSync(process.argv[1] + '/trailgate.pid', String(process.pid));
      console.log('held');
      setInterval(() => database.isOpen, 1000);`;
    const child = spawn(process.execPath, ['-e', source, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    return child;
  }

  it('rejects a second process with an error that names the first and the remedy', async () => {
    const child = await otherHolder();
    expect(() => lockDataDir(folder)).toThrow(
      new RegExp(`is in use by process ${child.pid}: stop it, give this one another TRAILGATE_DATA_DIR`),
    );
    child.kill('SIGKILL');
    await once(child, 'exit');
  });

  it('is free after kill -9, although the PID file remains', async () => {
    const child = await otherHolder();
    child.kill('SIGKILL');
    await once(child, 'exit');
    lockDataDir(folder)();
  });

  it('can be taken once, and is free after its release', () => {
    const release = lockDataDir(folder);
    expect(() => lockDataDir(folder)).toThrow(`is in use by process ${process.pid}`);
    release();
    release();
    lockDataDir(folder)();
  });

  it('is separate from the lock of the counters, which one holder can have at a time', () => {
    const releaseFolder = lockDataDir(folder);
    const release = lockCounters(folder);
    expect(lockCounters(folder)).toBeUndefined();
    releaseFolder();
    expect(lockCounters(folder)).toBeUndefined();
    release?.();
    lockCounters(folder)!();
  });

  it('creates the folder, and reports a path that cannot be a folder', () => {
    lockDataDir(join(folder, 'new', 'data'))();
    writeFileSync(join(folder, 'file'), '');
    expect(() => lockDataDir(join(folder, 'file', 'data'))).toThrow(/is not a folder: set TRAILGATE_DATA_DIR/);
  });
});
