/** A load balancer that goes by /readyz sends nothing to a gateway that does not take requests yet. */
import { execFileSync } from 'node:child_process';
import { expect, it } from '@jest/globals';
import { makeCertificate } from '../support/certificates.js';
import { send } from '../support/http.js';
import { eventually, freePort, spawnOwned, temporaryFolder } from '../support/processes.js';
import { startTrailgate } from '../support/program.js';
import { describeWithOpenssl } from '../support/describe-with.js';

describeWithOpenssl('while the public listener waits for its certificate', () => {
  it('is not ready, and then it is', async () => {
    const folder = temporaryFolder('readiness');
    const { cert, key } = makeCertificate(folder);
    // A file that is there at once and can be read only when somebody writes it.
    execFileSync('mkfifo', [`${folder}/slow.crt`]);
    const write = (): Promise<unknown> =>
      spawnOwned('sh', ['-c', 'cat "$0" > "$1"', cert, `${folder}/slow.crt`]).exited;
    const adminPort = await freePort();
    const starting = startTrailgate({
      config: { gateway: { tls: { cert: `${folder}/slow.crt`, key } } },
      env: { TRAILGATE_ADMIN_PORT: String(adminPort) },
    });
    await write(); // for the check of the configuration
    const readyz = (): ReturnType<typeof send> => send(`http://127.0.0.1:${adminPort}/readyz`);
    await eventually('the admin listener answers', () =>
      readyz().then(
        () => true,
        () => false,
      ),
    );
    const answer = await readyz();
    expect(answer.status).toBe(503);
    expect(answer.json()).toMatchObject({ checks: { process: { status: 'fail', detail: 'starting' } } });
    await write();
    const trailgate = await starting;
    expect((await readyz()).status).toBe(200);
    await trailgate.stop();
  });
});
