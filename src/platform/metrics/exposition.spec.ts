/** All formats contain the same values. A real Prometheus reads them in `test/e2e/native-histograms.spec.ts`. */
import { describe, expect, it } from '@jest/globals';
import { PbfReader } from 'pbf';
import { OPEN_METRICS, PROTOBUF, TEXT, type Exposition } from './exposition.js';
import type { Family } from './family.js';
import { HistogramSeries } from './metric.js';

describe('a histogram with an exemplar', () => {
  const series = new HistogramSeries('route="/a\\"b\\\\"', [0.5, 5]);
  series.observe(0.25);
  series.observe(0.25);
  series.observe(0);
  series.observe(7, { traceId: 'abc', timeMs: 1_796_000_000_250 });
  const family: Family = { name: 'duration_seconds', kind: 'histogram', help: 'Time.', series: [series.read()] };
  const bytesIn = ({ head, series: write, prefix }: Exposition): Buffer => {
    const bytes = Buffer.concat([head(family), ...family.series.map((one) => write(one, family))]);
    return Buffer.concat([prefix(bytes.length), bytes]);
  };
  const textIn = (exposition: Exposition): string[] => bytesIn(exposition).toString().trimEnd().split('\n');

  it('in text has no exemplar', () => {
    expect(textIn(TEXT)).toEqual([
      '# HELP duration_seconds Time.',
      '# TYPE duration_seconds histogram',
      'duration_seconds_bucket{route="/a\\"b\\\\",le="0.5"} 3',
      'duration_seconds_bucket{route="/a\\"b\\\\",le="5"} 3',
      'duration_seconds_bucket{route="/a\\"b\\\\",le="+Inf"} 4',
      'duration_seconds_sum{route="/a\\"b\\\\"} 7.5',
      'duration_seconds_count{route="/a\\"b\\\\"} 4',
    ]);
  });

  it('in OpenMetrics has the exemplar after its bucket, and canonical bounds', () => {
    expect(textIn(OPEN_METRICS).slice(3, 5)).toEqual([
      'duration_seconds_bucket{route="/a\\"b\\\\",le="5.0"} 3',
      `duration_seconds_bucket{route="/a\\"b\\\\",le="+Inf"} 4 # {trace_id="abc"} 7 1796000000.25`,
    ]);
  });

  it('in protocol buffers has unescaped labels and the spans of the non-empty buckets', () => {
    const reader = new PbfReader(bytesIn(PROTOBUF));
    expect(reader.readVarint()).toBe(reader.length - reader.pos);
    const spans: [number, number][] = [];
    const deltas: number[] = [];
    const labels: string[] = [];
    let zero = 0;
    const readSpan = (tag: number, span: [number, number], pbf: PbfReader): void => {
      span[tag - 1] = tag === 1 ? pbf.readSVarint() : pbf.readVarint();
    };
    const readHistogram = (tag: number, _: null, pbf: PbfReader): void => {
      if (tag === 7) zero = pbf.readVarint();
      if (tag === 12) spans.push(pbf.readMessage(readSpan, [0, 0] as [number, number]));
      if (tag === 13) deltas.push(pbf.readSVarint());
    };
    const readMetric = (tag: number, _: null, pbf: PbfReader): void => {
      if (tag === 1) pbf.readMessage((_label, __, label) => void labels.push(label.readString()), null);
      if (tag === 7) pbf.readMessage(readHistogram, null);
    };
    reader.readFields((tag, _, pbf) => void (tag === 4 && pbf.readMessage(readMetric, null)), null);
    expect(labels).toEqual(['route', '/a"b\\']);
    // 0.25 is the upper bound of bucket -16, and 7 is in bucket 23: 2^(22/8) < 7 <= 2^(23/8).
    expect([zero, spans, deltas]).toEqual([
      1,
      [
        [-16, 1],
        [38, 1],
      ],
      [2, -1],
    ]);
  });
});
