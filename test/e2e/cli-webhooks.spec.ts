/** The output of `trailgate webhooks` and `trailgate events` for people and scripts. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startReceiver, type Receiver } from '../support/webhook-receiver.js';
import { runTrailgate } from '../support/program.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

describe('trailgate webhooks', () => {
  let trailgate: SharedTrailgate;
  let receiver: Receiver;
  let env: Record<string, string>;
  let account: string;
  let endpoint: string;
  beforeAll(async () => {
    receiver = await startReceiver();
    const webhooks = { allowHttp: true, allowPrivateNetworks: ['127.0.0.0/8'] };
    trailgate = await acquireTrailgate({ backend: receiver.url, config: { webhooks, events: ['customer.created'] } });
    env = { TRAILGATE_ADMIN_URL: trailgate.adminUrl, TRAILGATE_ADMIN_TOKEN: trailgate.adminToken };
    account = (await trailgate.admin.createAccount()).id;
  });
  afterAll(async () => {
    await trailgate?.stop();
    receiver?.stop();
  });

  const webhooks = (...line: string[]) => runTrailgate(['webhooks', ...line], { env });
  const tooWide = (stdout: string) => stdout.split('\n').filter((line) => line.length > 80);

  it('creates, lists, tests, pauses, resumes and rotates an endpoint, and shows its secret once', async () => {
    const made = await webhooks(
      'create',
      account,
      '--url',
      `${receiver.url}/a/very/long/path/${'x'.repeat(80)}`,
      '--json',
    );
    expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('shown only once')]);
    const { id, secret } = JSON.parse(made.stdout) as { id: string; secret: string };
    endpoint = id;
    expect(secret).toMatch(/^whsec_/);
    const list = await webhooks('list', account);
    expect(list.stdout).toContain(id);
    expect(tooWide(list.stdout)).toEqual([]);
    expect((await webhooks('get', id)).stdout).not.toContain('whsec_');
    const tested = await webhooks('test', id);
    expect(tested.stdout).toMatch(/^status +succeeded$/m);
    expect((await webhooks('pause', id)).stdout).toMatch(/^status +paused$/m);
    expect((await webhooks('replay', id)).stderr).toContain('webhook_endpoint_disabled');
    expect((await webhooks('resume', id, '--none')).stdout).toMatch(/^status +enabled$/m);
    expect((await webhooks('rotate', id, '--overlap', '60')).stdout).toMatch(/^secret +whsec_/m);
  });

  it('shows deliveries and events in 80 columns, retries a delivery, and deletes an endpoint', async () => {
    const list = await webhooks('deliveries', endpoint);
    expect(list.stdout).toMatch(/^\d\d-\d\d \d\d:\d\d  succeeded  2\d\d +webhook\.test  whd_\w{25}$/m);
    expect(tooWide(list.stdout)).toEqual([]);
    const [delivery = ''] = /whd_\w{25}/.exec(list.stdout) ?? [];
    expect((await webhooks('delivery', delivery)).stdout).toMatch(/^payload +\{"id":"evt_/m);
    expect((await webhooks('retry', delivery)).stdout).toMatch(/^replays +1$/m);
    expect((await webhooks('replay', endpoint)).stdout).toMatch(/^replayed +0$/m);
    expect((await webhooks('types')).stdout).toMatch(/^customer\.created +configuration/m);
    const events = await runTrailgate(['events', 'list', account], { env });
    expect(events.stdout).toMatch(/^\d\d-\d\d \d\d:\d\d  webhook\.test  test +- +evt_\w{25}$/m);
    expect(tooWide(events.stdout)).toEqual([]);
    const [event = ''] = /evt_\w{25}/.exec(events.stdout) ?? [];
    expect((await runTrailgate(['events', 'show', event], { env })).stdout).toMatch(/^source +test$/m);
    expect((await webhooks('delete', endpoint)).stdout).toBe('deleted\n');
    expect((await webhooks('list', account)).stdout).toBe('none\n');
    expect((await webhooks('create', account, '--url', 'https://10.0.0.1/')).stderr).toMatch(
      /url: The URL leads to a private network/,
    );
  });
});
