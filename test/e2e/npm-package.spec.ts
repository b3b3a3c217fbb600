/** The package from `npm pack` is small, contains no tests, and runs without a build. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { describeUnless } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { eventually, freePort, temporaryFolder } from '../support/processes.js';
import { installIsWanted } from '../support/servers.js';

const LARGEST_BYTES = 15 * 1024 * 1024;
const INSTALL_TIMEOUT_MS = 240_000;

const npm = (cwd: string, ...args: readonly string[]) =>
  spawnSync('npm', args, { cwd, encoding: 'utf8', timeout: INSTALL_TIMEOUT_MS });

describe('npm pack', () => {
  it('includes the program, the panel and the example, but no tests, sources or source maps', () => {
    const { stdout, status, stderr } = npm('.', 'pack', '--dry-run', '--json', '--ignore-scripts');
    expect({ status, stderr }).toMatchObject({ status: 0 });
    const [{ files } = { files: [] }] = JSON.parse(stdout) as { files: { path: string }[] }[];
    const paths = files.map(({ path }) => path);
    for (const each of ['dist/main.js', 'dist/panel/index.html', 'gateway.yaml', 'customers.openapi.yaml', 'LICENSE']) {
      expect(paths).toContain(each);
    }
    expect(paths.filter((path) => /\.spec\.|\.map$|^test\/|^src\//.test(path))).toEqual([]);
  });
});

const reason = installIsWanted('packages')
  ? null
  : 'installs packages: TRAILGATE_TEST_INSTALL=packages npm test runs it';

describeUnless(reason)('the package', () => {
  it(
    'is smaller than 15 MiB, and its demo answers a request in an empty folder',
    async () => {
      const packed = temporaryFolder('packed');
      expect(npm('.', 'pack', '--ignore-scripts', '--pack-destination', packed)).toMatchObject({ status: 0 });
      const [name = ''] = readdirSync(packed);
      expect(statSync(join(packed, name)).size).toBeLessThan(LARGEST_BYTES);
      const folder = join(packed, 'app');
      mkdirSync(folder);
      writeFileSync(join(folder, 'package.json'), '{"private":true}');
      // Omits optional dependencies. The tests have the Node of the project on the PATH, and the package would install
      // its own of 100 MB.
      const installed = npm(folder, 'install', '--omit=optional', '--prefer-offline', join(packed, name));
      expect(installed).toMatchObject({ status: 0 });
      const ports = await Promise.all([freePort(), freePort(), freePort()]);
      const names = ['TRAILGATE_GATEWAY_PORT', 'TRAILGATE_ADMIN_PORT', 'TRAILGATE_CUSTOMERS_PORT'];
      const env = {
        PATH: process.env['PATH'],
        ...Object.fromEntries(names.map((each, at) => [each, String(ports[at])])),
      };
      const demo = spawn(join(folder, 'node_modules/.bin/trailgate'), ['demo'], { cwd: folder, env });
      let said = '';
      demo.stdout.on('data', (text) => (said += text));
      demo.stderr.on('data', (text) => (said += text));
      try {
        await eventually('the program prints the curl command', () => said.includes('curl -i'));
        const [, url = '', key = ''] = /curl -i '([^']+)' -H 'Authorization: Bearer ([^']+)'/.exec(said) ?? [];
        const response = await send(url, { headers: { authorization: `Bearer ${key}` } });
        expect([response.status, response.json<{ data: object[] }>().data.length]).toEqual([200, 10]);
      } finally {
        demo.kill('SIGTERM');
        await new Promise((done) => demo.once('exit', done));
      }
    },
    2 * INSTALL_TIMEOUT_MS,
  );
});
