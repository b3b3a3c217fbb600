/** Routing finds the configured operation. Anything else is unreachable in every spelling. */
import { describe, expect, it } from '@jest/globals';
import { describeMatch, describeRoute, OPERATIONS } from '../../../test/support/operation-tables.js';
import type { Operation } from '../../config/model/schema.js';
import { OperationTable } from './operation-table.js';

describe('a request finds its operation', () => {
  it.each([
    ['GET', '/', 'GET /'],
    ['GET', '/customers', 'GET /customers'],
    ['POST', '/customers', 'POST /customers'],
    ['GET', '/customers/cus_1', 'GET /customers/{id}'],
    ['GET', '/customers/export', 'GET /customers/export'],
    ['GET', '/customers/cus_1/notes', 'GET /customers/{id}/notes'],
    ['GET', '/customers/cus_1/tours', 'GET /customers/{id}/{part}'],
    ['GET', '/tours/', 'GET /tours/'],
  ])('%s %s', (method, path, expected) => {
    expect(describeRoute(method, path)).toBe(expected);
  });

  it.each([
    ['GET', '/%63ustomers', 'GET /customers'],
    ['GET', '/customers/%65xport', 'GET /customers/export'],
    ['DELETE', '/customers/archive%2Ezip', 'DELETE /customers/archive.zip'],
    ['GET', '/customers/cus%5F1/%6eotes', 'GET /customers/{id}/notes'],
    ['GET', '/customers/100%25', 'GET /customers/{id}'],
    ['GET', '/customers/J%C3%BCrgen', 'GET /customers/{id}'],
  ])('percent-encoded characters match what they mean: %s %s', (method, path, expected) => {
    expect(describeRoute(method, path)).toBe(expected);
  });

  it('HEAD falls back to the GET operation', () => {
    expect(describeRoute('HEAD', '/customers')).toBe('GET /customers');
    expect(describeRoute('HEAD', '/customers/cus_1')).toBe('GET /customers/{id}');
    expect(describeRoute('HEAD', '/probe')).toBe('HEAD /probe');
  });

  it('an own HEAD operation is found regardless of the configured order', () => {
    const both = ['GET', 'HEAD'].map((method): Operation => ({
      ...OPERATIONS[0]!,
      id: method,
      method,
      template: '/x',
    }));
    for (const order of [both, both.toReversed()]) {
      expect(describeMatch(new OperationTable(order).match('HEAD', '/x'))).toBe('HEAD');
      expect(describeMatch(new OperationTable(order).match('GET', '/x'))).toBe('GET');
    }
  });
});

describe('what is not configured is not reachable', () => {
  it.each([
    '/customer',
    '/customersx',
    '/customers/',
    '/customers/cus_1/',
    '/customers/cus_1/notes/1',
    '/customers/export/1',
    '/tours',
    '/admin',
    '/health',
    '/usage/1',
  ])('%s', (path) => {
    expect(describeRoute('GET', path)).toBe('not_found');
  });

  it('nothing is configured: nothing is reachable', () => {
    const empty = new OperationTable([]);
    for (const path of ['/', '/customers', '/constructor', '/__proto__', '/toString']) {
      expect(describeMatch(empty.match('GET', path))).toBe('not_found');
    }
  });

  it('names of object members are only names', () => {
    expect(describeRoute('GET', '/customers/__proto__')).toBe('GET /customers/{id}');
    expect(describeRoute('constructor', '/customers')).toMatch(/^405 /);
    expect(describeRoute('GET', '/__proto__')).toBe('not_found');
  });

  it('paths that the gateway answers itself are never forwarded', () => {
    expect(describeRoute('GET', '/usage')).toBe('not_ours');
    expect(describeRoute('POST', '/usage')).toBe('405 GET, HEAD');
  });
});

describe('a method that the path does not have', () => {
  it.each([
    ['PUT', '/customers', '405 GET, HEAD, POST'],
    ['POST', '/customers/cus_1', '405 DELETE, GET, HEAD, PATCH'],
    ['DELETE', '/customers/export', '405 GET, HEAD'],
    ['GET', '/customers/archive.zip', '405 DELETE'],
    ['get', '/customers', '405 GET, HEAD, POST'],
    ['', '/customers', '405 GET, HEAD, POST'],
    ['GET', '/probe', '405 HEAD, POST'],
  ])('%s %s is refused with the methods that it has', (method, path, expected) => {
    expect(describeRoute(method, path)).toBe(expected);
  });
});

describe('no spelling of a static path reaches the sibling operation with a parameter', () => {
  it.each([
    '/customers/EXPORT',
    '/customers/Export',
    '/customers/e%58port',
    '/customers/export.json',
    '/customers/export.',
    '/customers/export%2Ejson',
    '/customers/EXPORT.csv',
    '/customers/export%20',
    '/customers/%20export',
    '/customers/export%3fx',
    '/customers/export%23x',
    '/customers/ARCHIVE.ZIP',
    '/customers/%20archive.zip',
    '/customers/archive.zip.json',
    '/customers/cus_1/NOTES',
    '/customers/cus_1/notes.json',
  ])('%s is not found', (path) => {
    expect(describeRoute('GET', path)).toBe('not_found');
  });

  it.each(['/customers/exporter', '/customers/my.export', '/customers/archive', '/customers/cus_1.json'])(
    '%s is an identifier like any other',
    (path) => {
      expect(describeRoute('GET', path)).toBe('GET /customers/{id}');
    },
  );

  it.each([
    '/customers/%2e%2e/customers',
    '/customers/..',
    '/customers/./export',
    '/customers/x%2fnotes',
    '/customers/x%5cnotes',
    '/customers/x%00',
    '/customers//export',
    '//customers',
    '/customers/export;x',
    '/customers/export%3bx',
    '/customers/%2565xport',
    '/customers/x%252fnotes',
    '/customers/export#x',
    '/customers/x/../export',
  ])('%s is refused as a path', (path) => {
    expect(describeRoute('GET', path)).toBe('invalid_path');
  });
});

describe('parameters in a part of a segment', () => {
  const operations = [
    'GET /a/{id}',
    'POST /a/{id}',
    'POST /a/{id}:archive',
    'POST /a/{id}:cancel',
    'GET /a/{base}...{head}',
    'GET /a/{base}...{head}/files',
    'GET /b/{name}.{ext}',
    'GET /b/{base}...{head}',
    'GET /c/{id}',
  ].map((match, index): Operation => {
    const [method = '', template = ''] = match.split(' ');
    return { ...OPERATIONS[0]!, index, id: match, method, template };
  });
  const own = new OperationTable(operations, undefined, ['/c/{id}:purge', '/c/export', '/c/{id}']);

  it.each([
    ['POST', '/a/1:archive', 'POST /a/{id}:archive'],
    ['POST', '/a/1:cancel', 'POST /a/{id}:cancel'],
    ['POST', '/a/1:other', 'POST /a/{id}'],
    ['GET', '/a/1', 'GET /a/{id}'],
    ['GET', '/a/main...next', 'GET /a/{base}...{head}'],
    ['GET', '/a/main...next/files', 'GET /a/{base}...{head}/files'],
    ['GET', '/a/m%C3%A4in...next', 'GET /a/{base}...{head}'],
    ['GET', '/b/report.pdf', 'GET /b/{name}.{ext}'],
    ['GET', '/c/1', 'GET /c/{id}'],
  ])('%s %s finds %s', (method, path, expected) => {
    expect(describeMatch(own.match(method, path))).toBe(expected);
  });

  it.each([
    ['of another method', 'GET', '/a/1:archive', '405 POST'],
    ['in another case', 'POST', '/a/1:ARCHIVE', 'not_found'],
    ['with encoded fixed text', 'POST', '/a/1%3Aarchive', 'not_found'],
    ['with a suffix', 'POST', '/a/1:archive.json', 'not_found'],
    ['without a parameter', 'POST', '/a/:archive', 'not_found'],
    ['that several match', 'GET', '/b/main...next', 'not_found'],
    ['of an operation that is left out', 'GET', '/c/1:purge', 'not_found'],
    ['of a fixed path that is left out', 'GET', '/c/export', 'not_found'],
  ])('never match a request %s: %s %s', (_, method, path, expected) => {
    expect(describeMatch(own.match(method, path))).toBe(expected);
  });
});
