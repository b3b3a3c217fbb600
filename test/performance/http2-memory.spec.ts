/**
 * Attack: HTTP/2 clients without a key make the gateway hold memory, or work, for a few bytes sent. The process has a
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
/** How long others are measured beside a crowd that is complete. */
const MEASURED_MS = 2_500;

/** The machine may be busier beside one crowd than beside another. A loop that is blocked takes seconds. */
const LATENCY_SLACK_MS = 250;

type Kind = 'harmless' | 'memory' | 'resets' | 'continuation' | 'settings' | 'pings';

interface Seen {
  /** Nine of ten requests of others took no longer. */
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

/** Connections and streams that were cut, by reason. */
async function cutsOf({ trailgate }: OwnProxied): Promise<(reason: string) => number> {
  const series = seriesOf((await send(`${trailgate.adminUrl}/metrics`)).text);
  return (reason) => series.get(`trailgate_connections_cut_total{reason="${reason}"}`) ?? 0;
}

/** Sends requests of another client beside a crowd, from its first connection until it has been complete for a while. */
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

describeWithOpenssl('clients of HTTP/2 without a key', () => {
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

  it('that hold large heads on 2,000 connections cost little memory, and others fare as beside harmless ones', async () => {
    expect(hostile.growthBytes).toBeLessThan(MAX_GROWTH_BYTES);
    expectNoWorse(hostile);
    const cuts = await cutsOf(gateway);
    expect(cuts('header_bytes')).toBeGreaterThan(0);
    expect(cuts('address_limit')).toBe(0);
  });

  it.each(['resets', 'continuation', 'settings', 'pings'] as const)('cannot flood it with %s', async (kind) => {
    const seen = await seenBeside(gateway, kind, 200);
    expect(seen.growthBytes).toBeLessThan(MAX_GROWTH_BYTES);
    expectNoWorse(seen);
  });

  it('are bounded without a limit for an address as well', async () => {
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
