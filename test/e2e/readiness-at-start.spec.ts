/** A load balancer that uses /readyz sends nothing to a gateway that does not accept requests yet. */
import { expect, it } from '@jest/globals';
import { describeWithRedis } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { eventually, freePort } from '../support/processes.js';
import { startTrailgate } from '../support/program.js';
import { sharedRedisUrl } from '../support/redis.js';

// Uses workers, because they take a while to start while the listener for probes is up at once.
describeWithRedis('/readyz with worker processes', () => {
  it('answers 503 while they start, and the gateway accepts the first request after it answers 200', async () => {
    const [adminPort, gatewayPort] = [await freePort(), await freePort()];
    const starting = startTrailgate({
      args: ['--workers', '2'],
      env: {
        REDIS_URL: await sharedRedisUrl(),
        TRAILGATE_ADMIN_PORT: String(adminPort),
        TRAILGATE_GATEWAY_PORT: String(gatewayPort),
      },
    });
    const probe = async () => {
      try {
        const { status, text } = await send(`http://127.0.0.1:${adminPort}/readyz`);
        return { status, process: (JSON.parse(text) as { checks: { process: object } }).checks.process };
      } catch {
        return undefined;
      }
    };
    const seen: (Awaited<ReturnType<typeof probe>> & object)[] = [];
    await eventually('the program is ready', async () => {
      const found = await probe();
      if (found !== undefined) seen.push(found);
      return found?.status === 200;
    });
    const answer = await send(`http://127.0.0.1:${gatewayPort}/api/v1/open`);
    expect(answer.status).toBe(401);
    expect(seen[0]).toEqual({ status: 503, process: { status: 'fail', detail: 'starting' } });
    expect(seen.slice(0, -1).map(({ status }) => status)).toEqual(seen.slice(0, -1).map(() => 503));
    await (await starting).stop();
  });
});
