/** CSV that every reader parses back, and that no spreadsheet executes. */
import { describe, expect, it } from '@jest/globals';
import { csvLine, csvText } from './usage-csv.js';
import type { UsageRow } from './usage-rows.js';

async function* pages(...rows: UsageRow[][]): AsyncGenerator<UsageRow[]> {
  yield* rows;
}

async function textOf(...rows: UsageRow[][]): Promise<string> {
  let text = '';
  for await (const piece of csvText(['day', 'api_key', 'operation'], pages(...rows))) text += piece;
  return text;
}

describe('usage as CSV', () => {
  it('has one heading and a line for each row, over all pages', async () => {
    const row = { day: '2026-11-20', api_key_id: 'key_1', operation: 'listCustomers', requests: 3, cost: 6 };
    expect(await textOf([row], [{ ...row, operation: null, requests: -1, cost: -2 }])).toBe(
      'day,api_key_id,operation,requests,cost\r\n2026-11-20,key_1,listCustomers,3,6\r\n2026-11-20,key_1,,-1,-2\r\n',
    );
  });

  it('has its heading even without rows', async () => {
    expect(await textOf([])).toBe('day,api_key_id,operation,requests,cost\r\n');
  });

  it.each([
    ['a,b', '"a,b"'],
    ['a"b', '"a""b"'],
    ['a\r\nb', '"a\r\nb"'],
    ['=1+1', "'=1+1"],
    ['+cmd', "'+cmd"],
    ['-cmd', "'-cmd"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\tx', "'\tx"],
    ['=HYPERLINK("http://a","b")', `"'=HYPERLINK(""http://a"",""b"")"`],
  ])('writes %j as %s', (value, text) => {
    expect(csvLine([value])).toBe(`${text}\r\n`);
  });
});
