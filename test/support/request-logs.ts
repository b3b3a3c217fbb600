/** Rows of request logs for tests. */
import type { RequestLogRow } from '../../src/request-logs/request-log-row.js';

/** Returns the row of a successful request, with the given changes. */
export function requestLogRow(change: Partial<RequestLogRow> & Pick<RequestLogRow, 'at' | 'seq'>): RequestLogRow {
  return {
    accountId: 'acc_1',
    node: 'node_a',
    requestId: `req_${change.seq}`,
    keyId: 'key_1',
    operation: 'list',
    method: 'GET',
    route: '/api/v1/customers',
    status: 200,
    code: '',
    durationUs: 1_500,
    bytesIn: 0,
    bytesOut: 9,
    ip: '203.0.113.7',
    weight: 1,
    source: 'rest',
    tool: '',
    ...change,
  };
}
