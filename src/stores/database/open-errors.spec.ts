import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from './connect.js';
import { SqliteError } from './database-errors.js';
import { postgresOpenError, sqliteOpenError } from './open-errors.js';

const FILE = '/data/trailgate.db';
const URL_WITH_PASSWORD = 'postgres://gate:s3cr%40t@db.internal:6543/tours';

const fault = (fields: object, message = 'm') => Object.assign(new Error(message), fields);

describe('an SQLite database that cannot be opened', () => {
  it.each([
    ['the disk is full', fault({ code: 'ENOSPC' }), /disk .* full: free some space/],
    ['SQLite finds no space', new SqliteError('full', 'ERR_SQLITE_ERROR', 13), /disk .* full/],
    ['SQLite finds no space to begin', new SqliteError('disk I/O', 'ERR_SQLITE_ERROR', 4874), /disk .* full/],
    ['the folder is not writable', fault({ code: 'EACCES' }), /cannot be written: give this user write access/],
    ['the file cannot be opened', new SqliteError('cannot open', 'ERR_SQLITE_ERROR', 14), /cannot be written/],
    ['the file is read-only', new SqliteError('readonly', 'ERR_SQLITE_ERROR', 1032), /cannot be written/],
    ['the file is damaged', new SqliteError('malformed', 'ERR_SQLITE_ERROR', 11), /damaged: restore it from a backup/],
    ['another process has it', new SqliteError('locked', 'ERR_SQLITE_ERROR', 5), /locked by another process: stop/],
  ])('says what to do when %s', (_, error, expected) => {
    const { message } = sqliteOpenError(error, FILE);
    expect(message).toMatch(expected);
    expect(message).toContain(FILE);
    expect(message).not.toContain('\n');
  });

  describe('with real files', () => {
    let folder: string;
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'trailgate-open-'));
    });
    afterEach(() => rmSync(folder, { recursive: true, force: true }));

    it('refuses a file that is not a database', async () => {
      writeFileSync(join(folder, 'trailgate.db'), 'these are the notes of the last season\n'.repeat(50));
      await expect(openDatabase({ dataDir: folder })).rejects.toThrow(/is not an SQLite database: move it away/);
    });

    it('refuses a folder in place of the file', async () => {
      mkdirSync(join(folder, 'trailgate.db'));
      await expect(openDatabase({ dataDir: folder })).rejects.toThrow(/cannot be written/);
    });

    it('refuses a data folder that is a file', async () => {
      writeFileSync(join(folder, 'data'), '');
      await expect(openDatabase({ dataDir: join(folder, 'data') })).rejects.toThrow(/is not a folder/);
    });
  });
});

describe('a PostgreSQL database that cannot be opened', () => {
  it.each([
    ['refuses', fault({ code: 'ECONNREFUSED', syscall: 'connect' }), /db\.internal:6543 refuses connections: start it/],
    ['is not found', fault({ code: 'ENOTFOUND' }), /host name .* is not known/],
    ['refuses the password', fault({ code: '28P01' }), /refuses user "gate" or its password: correct DATABASE_URL/],
    ['has no such database', fault({ code: '3D000' }), /no database "tours": create it \(createdb tours\)/],
    ['forbids tables', fault({ code: '42501' }), /may not create tables in "tours": make it the owner/],
    ['hangs', fault({}, 'timeout exceeded when trying to connect'), 'does not answer in time'],
    ['has no TLS', fault({}, 'The server does not support SSL connections'), /correct sslmode/],
    [
      'answers with a word that a time-out has, too',
      fault({ code: '08P01' }, 'unsupported startup parameter: statement_timeout'),
      /cannot be used: unsupported startup parameter: statement_timeout \(SQLSTATE 08P01\)/,
    ],
    ['lets its pooler wait too long', fault({ code: '08P01' }, 'query_wait_timeout'), 'query_wait_timeout (SQLSTATE'],
    ['repeats the password', fault({}, 'odd: s3cr@t\nand s3cr%40t'), /cannot be used: odd: \*\*\* and \*\*\*\./],
  ])('says what to do when it %s', (_, error, expected) => {
    const { message } = postgresOpenError(error, URL_WITH_PASSWORD);
    expect(message).toMatch(expected);
    expect(message).not.toMatch(/s3cr/);
    expect(message).not.toContain('\n');
  });

  it.each([
    ['ECONNREFUSED', true],
    ['EAI_AGAIN', true],
    ['57P03', true],
    ['53300', true],
    ['08006', true],
    ['08P01', false],
    ['28P01', false],
    ['3D000', false],
    ['42501', false],
  ])('reports whether waiting can help: %s %s', (code, isTransient) => {
    expect(postgresOpenError(fault({ code }), URL_WITH_PASSWORD)).toMatchObject({ isTransient });
  });

  it.each(['localhost:5432', 'mysql://a:s3cret@h/db', 'postgres://a:s3cret@h:port/db', ''])(
    'explains the form of DATABASE_URL without repeating %j',
    async (databaseUrl) => {
      const error = await openDatabase({ databaseUrl, dataDir: '' }).catch((thrown: Error) => thrown);
      expect(error).toMatchObject({
        message: expect.stringMatching(/^DATABASE_URL is not a URL of the form postgres:/),
      });
      expect(String(error)).not.toContain('s3cret');
    },
  );

  it('reports a port without a server', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    await expect(openDatabase({ databaseUrl: `postgres://a:b@127.0.0.1:${port}/c`, dataDir: '' })).rejects.toThrow(
      `PostgreSQL at 127.0.0.1:${port} refuses connections`,
    );
  });
});
