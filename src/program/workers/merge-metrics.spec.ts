import { describe, expect, it } from '@jest/globals';
import { lastingMetrics, mergeMetrics } from './merge-metrics.js';

const text = (requests: number, up: number, entries: number): string => `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{code="200"} ${requests}
# HELP store_up Whether it answers.
# TYPE store_up gauge
store_up ${up}
# HELP cache_entries Entries.
# TYPE cache_entries gauge
cache_entries ${entries}
# HELP trailgate_build_info Always 1.
# TYPE trailgate_build_info gauge
trailgate_build_info{version="a b"} 1
# HELP duration_seconds Time.
# TYPE duration_seconds histogram
duration_seconds_bucket{le="1"} ${requests}
duration_seconds_bucket{le="+Inf"} ${requests}
duration_seconds_sum ${requests / 2}
duration_seconds_count ${requests}
`;

describe('the metrics of several processes', () => {
  it('add counters, histograms and what is held up, and keep what is the same everywhere', () => {
    const merged = mergeMetrics([text(3, 1, 10), text(4, 0, 20)]);
    expect(merged).toContain('requests_total{code="200"} 7\n');
    expect(merged).toContain('duration_seconds_bucket{le="+Inf"} 7\n');
    expect(merged).toContain('duration_seconds_sum 3.5\n');
    expect(merged).toContain('cache_entries 30\n');
    expect(merged).toContain('store_up 0\n');
    expect(merged).toContain('trailgate_build_info{version="a b"} 1\n');
    expect(merged.match(/# TYPE/g)).toHaveLength(5);
  });

  it('keep what a process had counted when it has gone, and forget what it held', () => {
    const merged = mergeMetrics([text(3, 1, 10), lastingMetrics(text(4, 0, 20))]);
    expect(merged).toContain('requests_total{code="200"} 7\n');
    expect(merged).toContain('cache_entries 10\n');
    expect(merged).toContain('store_up 1\n');
  });

  it('show the worst that one of them sees, not a sum that no one does', () => {
    const see = (
      healthy: number,
      started: number,
      expiry: number,
      mean: string,
    ): string => `# HELP trailgate_upstream_targets T.
# TYPE trailgate_upstream_targets gauge
trailgate_upstream_targets{service="a",target="state=\\"healthy\\"",state="healthy"} ${healthy}
trailgate_upstream_targets{service="a",target="state=\\"healthy\\"",state="ejected"} ${3 - healthy}
# HELP process_start_time_seconds T.
# TYPE process_start_time_seconds gauge
process_start_time_seconds ${started}
# HELP trailgate_certificate_expiry_timestamp_seconds T.
# TYPE trailgate_certificate_expiry_timestamp_seconds gauge
trailgate_certificate_expiry_timestamp_seconds ${expiry}
# HELP nodejs_eventloop_lag_mean_seconds T.
# TYPE nodejs_eventloop_lag_mean_seconds gauge
nodejs_eventloop_lag_mean_seconds ${mean}
`;
    const lines = mergeMetrics([see(3, 100, 900, 'Nan'), see(1, 200, 800, '0.5'), see(2, 150, 850, 'Nan')]).split('\n');
    expect(lines.filter((line) => !line.startsWith('#'))).toEqual([
      'trailgate_upstream_targets{service="a",target="state=\\"healthy\\"",state="healthy"} 1',
      'trailgate_upstream_targets{service="a",target="state=\\"healthy\\"",state="ejected"} 2',
      'process_start_time_seconds 200',
      'trailgate_certificate_expiry_timestamp_seconds 800',
      'nodejs_eventloop_lag_mean_seconds 0.5',
      '',
    ]);
  });

  it('tell since when the first of them has been without the counters, and how stale a key may be anywhere', () => {
    const see = (lost: number, stale: number): string => `# HELP trailgate_quota_store_lost_timestamp_seconds T.
# TYPE trailgate_quota_store_lost_timestamp_seconds gauge
trailgate_quota_store_lost_timestamp_seconds ${lost}
# HELP trailgate_key_staleness_seconds T.
# TYPE trailgate_key_staleness_seconds gauge
trailgate_key_staleness_seconds ${stale}
`;
    const merged = (...texts: string[]) => mergeMetrics(texts).match(/^trailgate.*$/gm);
    expect(merged(see(0, 0.5), see(1_800_000_020, 10), see(1_800_000_010, 2))).toEqual([
      'trailgate_quota_store_lost_timestamp_seconds 1800000010',
      'trailgate_key_staleness_seconds 10',
    ]);
    expect(merged(see(0, 0), see(0, 0))?.[0]).toBe('trailgate_quota_store_lost_timestamp_seconds 0');
  });

  it('are nothing where there are none', () => {
    expect(mergeMetrics(['', ''])).toBe('\n');
    expect(lastingMetrics('')).toBe('');
  });
});
