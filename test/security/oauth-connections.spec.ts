/** Clients of the authorization server can open only some connections, so that the gateway keeps the others. */
import { afterEach, expect, it } from '@jest/globals';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { canLimitDescriptors } from '../support/descriptors.js';
import { describeUnless } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { OAuthWorld } from '../support/oauth-world.js';
import { eventually } from '../support/processes.js';

const MAX_OF_NETWORK = 256;
const MORE = 40;
/** File descriptor limit. Clients get seven eighths, and the authorization server gets a quarter of those. */
const DESCRIPTORS = 200;
const MAX_OF_FEW = 43;

let world: OAuthWorld | undefined;
const flood: Socket[] = [];
const closed = (): number => flood.filter((socket) => socket.closed).length;
afterEach(async () => {
  for (const socket of flood.splice(0)) socket.destroy();
  await world?.stop();
});

const metric = async (reason: string): Promise<number> => {
  const { text } = await send(`${world?.trailgate.adminUrl}/metrics`);
  return seriesOf(text).get(`trailgate_connections_cut_total{reason="${reason}"}`) ?? 0;
};

function open(count: number): void {
  const port = Number(new URL(world?.issuer ?? '').port);
  for (let index = 0; index < count; index++) {
    const socket = connect(port, '127.0.0.1');
    flood.push(socket.on('error', () => undefined));
  }
}

/** Reports whether a client at a local address is served. */
async function isServed(localAddress: string): Promise<boolean> {
  const url = `${world?.issuer}/.well-known/oauth-authorization-server`.replace('localhost', '127.0.0.1');
  return (await send(url, { agent: new Agent({ localAddress }) }).catch(() => ({ status: 0 }))).status === 200;
}

it('one network can open 256 connections to the authorization server, and others can open theirs', async () => {
  world = await OAuthWorld.start({}, { gateway: {} });
  open(MAX_OF_NETWORK + MORE);
  await eventually('those beyond are closed', () => closed() === MORE);
  expect(await metric('address_limit')).toBe(MORE);
  expect([await isServed('127.0.0.1'), await isServed('127.0.0.2')]).toEqual([false, true]);
  for (const socket of flood.slice(0, MORE)) socket.destroy();
  await eventually('what closes makes room', () => isServed('127.0.0.1'));
}, 30_000);

it('a trusted proxy can open any number of connections', async () => {
  world = await OAuthWorld.start();
  open(MAX_OF_NETWORK + MORE);
  await eventually('all of them stand', () => flood.every(({ readyState }) => readyState === 'open'));
  expect([await isServed('127.0.0.1'), closed(), await metric('address_limit')]).toEqual([true, 0, 0]);
}, 30_000);

it('idle and half-sent requests do not delay the shutdown for ten seconds', async () => {
  world = await OAuthWorld.start();
  open(2);
  await eventually('both stand', () => flood.every(({ readyState }) => readyState === 'open'));
  flood[0]!.write('GET / HTT');
  await new Promise((resolve) => setTimeout(resolve, 200));
  const startedMs = performance.now();
  await world.stop();
  world = undefined;
  expect(performance.now() - startedMs).toBeLessThan(10_000);
}, 30_000);

describeUnless(canLimitDescriptors ? null : 'needs prlimit of util-linux')('with few file descriptors', () => {
  it('the authorization server closes most connections, and the gateway still responds', async () => {
    world = await OAuthWorld.start({}, {}, { descriptors: DESCRIPTORS });
    open(2 * DESCRIPTORS);
    await eventually('those beyond are closed', () => closed() === 2 * DESCRIPTORS - MAX_OF_FEW);
    expect(await metric('limit')).toBe(2 * DESCRIPTORS - MAX_OF_FEW);
    expect((await send(`${world.trailgate.gatewayUrl}/api/v1/customers`)).status).toBe(401);
    expect(await metric('file_descriptors')).toBe(0);
  }, 30_000);
});
