/** A scraper gets the format that it prefers. */
import { describe, expect, it } from '@jest/globals';
import { expositionFor } from './scrape-format.js';

const typeFor = (accept?: string): string => expositionFor(accept).contentType.split(';')[0] ?? '';
const PROTOBUF = 'application/vnd.google.protobuf';
const DELIMITED = `${PROTOBUF};proto=io.prometheus.client.MetricFamily;encoding=delimited`;
const OPEN_METRICS = 'application/openmetrics-text';

describe('the metrics format', () => {
  it.each([
    [undefined, 'text/plain'],
    ['*/*', 'text/plain'],
    ['', 'text/plain'],
    ['application/json', 'text/plain'],
    [`${OPEN_METRICS};version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1`, 'text/plain'],
    [`${OPEN_METRICS};version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1`, OPEN_METRICS],
    [`${OPEN_METRICS}; version="1.0.0"; charset=utf-8`, OPEN_METRICS],
    [`${OPEN_METRICS}; version=1.0.0; q=0.1, text/plain; q=0.9`, 'text/plain'],
    [`${OPEN_METRICS};q=0.2, text/*`, 'text/plain'],
    [`${OPEN_METRICS};q=0.1, */*`, 'text/plain'],
    [`${DELIMITED},${OPEN_METRICS};q=0.8`, PROTOBUF],
    [`${DELIMITED};q=0.5,${OPEN_METRICS};q=0.5`, PROTOBUF],
    [`${PROTOBUF};proto=io.prometheus.client.MetricFamily;encoding=text,text/plain;q=0.2`, 'text/plain'],
    [`${PROTOBUF};proto=other.Thing;encoding=delimited`, 'text/plain'],
    [`${PROTOBUF};encoding=delimited`, 'text/plain'],
    [`${DELIMITED};q=0,text/plain;q=0.2`, 'text/plain'],
    [`${DELIMITED};q=many`, 'text/plain'],
    [`${DELIMITED};q=1000`, 'text/plain'],
  ])('for Accept: %s is %s', (accept, type) => {
    expect(typeFor(accept)).toBe(type);
  });
});
