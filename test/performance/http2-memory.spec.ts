/**
 * Attack by HTTP/2 clients without a key that cause memory use or work in the gateway with few bytes. The process has a
 * heap of 256 MB, and the clients come from 40 addresses.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { resolve } from 'node:path';
import { makeCertificate } from '../support/certificates.js';
import { describeWithOpenssl } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { residentBytes, seriesOf } from '../support/metrics-text.js';
import { spawnOwned, temporaryFolder } from '../support/processes.js';
import { startProxied, type OwnProxied } from '../support/proxied.js';

const CROWD = resolve('test/support/http2-crowd.mjs');
const CONNECTIONS = 2_000;
const MAX_GROWTH_BYTES = 300 * 1024 * 1024;
/** Time that requests of others are measured after all hostile clients have connected. */
const MEASURED_MS = 2_500;

/** Allowance for other load on the machine. A blocked event loop would take seconds. */
const LATENCY_SLACK_MS = 250;

type Kind = 'harmless' | 'memory' | 'resets' | 'continuation' | 'settings' | 'pings';

interface Seen {
  /** 90th percentile of the duration of other requests. */
  readonly latencyMs: number;
  readonly growthBytes: number;
}

async function start(limits: object): Promise<OwnProxied> {
  const { cert, key } = makeCertificate(temporaryFolder('http2-memory'));
  return await startProxied({
    own: true,
    config: { gateway: { tls: { cert, key }, limits } },
    env: { NODE_OPTIONS: '--max-old-space-size=256', LOG_LEVEL: 'warn' },
  });
}

/** Returns a function for the number of closed connections and streams by reason. */
async function cutsOf({ trailgate }: OwnProxied): Promise<(reason: string) => number> {
  const series = seriesOf((await send(`${trailgate.adminUrl}/metrics`)).text);
  return (reason) => series.get(`trailgate_connections_cut_total{reason="${reason}"}`) ?? 0;
}

/** Measures requests of another client, from the first hostile connection until `MEASURED_MS` after the last. */
async function seenBeside(gateway: OwnProxied, kind: Kind, connections: number): Promise<Seen> {
  const { pid } = gateway.trailgate;
  const beforeBytes = residentBytes(pid);
  const crowd = spawnOwned(process.execPath, [CROWD, String(gateway.port), String(connections), kind]);
  let untilMs = Infinity;
  crowd.child.stdout?.once('data', () => (untilMs = performance.now() + MEASURED_MS));
  const latencies: number[] = [];
  let mostBytes = 0;
  try {
    while (performance.now() < untilMs) {
      const startedMs = performance.now();
      expect((await gateway.send('/open')).status).toBe(200);
      latencies.push(performance.now() - startedMs);
      mostBytes = Math.max(mostBytes, residentBytes(pid));
    }
  } finally {
    await crowd.end('SIGKILL');
  }
  latencies.sort((a, b) => a - b);
  const latencyMs = latencies[Math.floor(0.9 * latencies.length)] ?? Infinity;
  return { latencyMs, growthBytes: mostBytes - beforeBytes };
}

describeWithOpenssl('HTTP/2 clients without a key', () => {
  let gateway: OwnProxied;
  let hostile: Seen;
  let harmless: Seen;
  const expectNoWorse = ({ latencyMs }: Seen): void =>
    expect(latencyMs).toBeLessThan(3 * harmless.latencyMs + LATENCY_SLACK_MS);

  beforeAll(async () => {
    gateway = await start({});
    hostile = await seenBeside(gateway, 'memory', CONNECTIONS);
    harmless = await seenBeside(gateway, 'harmless', CONNECTIONS);
  });
  afterAll(() => gateway?.stop());

  it('that send large headers on 2,000 connections use little memory, and hardly slow down others', async () => {
    expect(hostile.growthBytes).toBeLessThan(MAX_GROWTH_BYTES);
    expectNoWorse(hostile);
    const cuts = await cutsOf(gateway);
    expect(cuts('header_bytes')).toBeGreaterThan(0);
    expect(cuts('address_limit')).toBe(0);
  });

  it.each(['resets', 'continuation', 'settings', 'pings'] as const)('do no harm with a flood of %s', async (kind) => {
    const seen = await seenBeside(gateway, kind, 200);
    expect(seen.growthBytes).toBeLessThan(MAX_GROWTH_BYTES);
    expectNoWorse(seen);
  });

  it('are limited even without a connection limit for each address', async () => {
    const unlimited = await start({ connectionsPerAddress: 0 });
    try {
      const seen = await seenBeside(unlimited, 'memory', CONNECTIONS);
      expect(seen.growthBytes).toBeLessThan(MAX_GROWTH_BYTES);
      expectNoWorse(seen);
    } finally {
      await unlimited.stop();
    }
  });
});
