import { describe, expect, it } from '@jest/globals';
import { rowsTable } from './table.js';

const COLUMNS = ['service', 'target', 'address', 'node', 'state', 'age', 'last_failure'];
const LONG = {
  service: 'customers-and-their-addresses',
  target: 'https://customers.backends.svc.cluster.local:4001/v1',
  address: '2001:0db8:85a3:0000:0000:8a2e:0370:7334',
  node: 'trailgate-gateway-5d8f7c9b6d-x2x7p:8080',
  state: 'ejected 119s',
  age: '59s',
  last_failure: 'first_byte_timeout 119s',
};
const ROOM = {
  mostColumns: 80,
  shortenedColumns: [
    ['target', 'node'],
    ['service', 'address', 'last_failure'],
  ],
};

describe('the width of a table', () => {
  it('is at most the given one, and names are shortened in the middle', () => {
    const [, line = ''] = rowsTable(COLUMNS, [LONG], ROOM).split('\n');
    expect(line.length).toBeLessThanOrEqual(80);
    expect(line).toMatch(
      /^cust\S*…\S*ses  http\S*…\S*\/v1  2001\S*…\S*334  trai\S*…\S*080  ejected 119s  59s  firs.*….*19s$/,
    );
  });

  it('is reached by shortening only what is needed, in the given order', () => {
    const short = { ...LONG, target: 'http://10.0.0.7:4001', service: 'orders', address: null, state: 'healthy' };
    expect(rowsTable(COLUMNS, [{ ...short, node: 'gateway-1', last_failure: null }], ROOM)).not.toContain('…');
    const [, line = ''] = rowsTable(COLUMNS, [short], ROOM).split('\n');
    expect(line).toMatch(/^orders +http:\S*…\S*4001 +- +trail\S*…\S*8080 +healthy +59s +first_byte_timeout 119s$/);
  });

  it('is that of the content if none is given', () => {
    expect(rowsTable(COLUMNS, [LONG])).not.toContain('…');
  });
});
