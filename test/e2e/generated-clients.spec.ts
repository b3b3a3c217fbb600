/**
 * Generated clients compile under the strictest settings of their language. They work on the running gateway and admin
 * API. test/generated-clients has a program for each generator, as an integrator would write it. `npm run
 * clients:generated` runs this alone.
 */
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeUnless } from '../support/describe-with.js';
import {
  installNpmPackages,
  installPythonPackages,
  missingToolchain,
  runForeign,
} from '../support/foreign-packages.js';
import { startReferenceDeployment, type ReferenceDeployment } from '../support/reference-deployment.js';

const FOLDER = 'test/generated-clients';
const BIN = 'node_modules/.bin';
const APIS = ['public', 'admin'];
const BUILD_TIMEOUT_MS = 900_000;
const GENERATOR = 'openapi-generator-cli-7.25.0.jar';

/** All generated clients do this: create three, be refused twice, list to the end, and reach a limit. */
const SCENARIO = {
  created: 3,
  walked: 3,
  conflict: 'conflict',
  reason: 'email_taken',
  invalid: 'validation_failed',
  pointer: '#/birth_date',
  limited: 'rate_limited',
};
/** Programs whose packages are installed quickly do more. */
const DONE = {
  customers: {
    created: 'lead',
    conflict: 'conflict',
    reason: 'email_taken',
    listed: 1,
    updated: 'active',
    deleted: 204,
    missing: 'resource_not_found',
    advice: 'use another',
    plan: 'unlimited',
  },
  admin: { zone: 'UTC', environment: 'live', keys: 1, wrong: '#/name' },
  scenario: SCENARIO,
};

let deployment: ReferenceDeployment;

beforeAll(async () => {
  rmSync(join(FOLDER, 'generated'), { recursive: true, force: true });
  mkdirSync(join(FOLDER, 'generated/generated_python'), { recursive: true });
  deployment = await startReferenceDeployment();
  const documents = await deployment.documents();
  writeFileSync(join(FOLDER, 'generated/public.json'), documents.public);
  writeFileSync(join(FOLDER, 'generated/admin.json'), documents.admin);
});
afterAll(() => deployment.stop());

/** Runs a command in the folder, which must succeed. @returns what it wrote to stdout. */
async function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { code, stdout, stderr } = await runForeign(FOLDER, command, args, env, BUILD_TIMEOUT_MS);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
  return stdout;
}

/** Returns the last line of a program's output. */
async function done(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const { gateway, apiUrl, secret } = deployment;
  const urls = { API_URL: apiUrl, API_KEY: secret, ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN: gateway.adminToken };
  const newKey = async (plan: string) => (await gateway.admin.newKey(plan)).key.secret;
  // Of an account without customers, and of one that may ask once a minute.
  const keys = { SCENARIO_KEY: await newKey('unlimited'), LIMITED_KEY: await newKey('one_a_minute') };
  return JSON.parse(await run(command, args, { ...urls, ...keys, ...env }));
}

describeUnless(installNpmPackages(FOLDER))('a client in TypeScript', () => {
  beforeAll(async () => {
    for (const api of APIS) {
      await run(`${BIN}/openapi-typescript`, [
        `generated/${api}.json`,
        '--output',
        `generated/openapi-fetch/${api}.ts`,
      ]);
      await run(`${BIN}/openapi-ts`, ['--input', `./generated/${api}.json`, '--output', `generated/hey-api/${api}`]);
    }
    await run(`${BIN}/tsc`, ['--project', '.']);
  });

  it.each(['openapi-fetch', 'hey-api'])('made by %s does what it says', async (name) => {
    expect(await done(process.execPath, [`generated/js/${name}/main.js`])).toEqual(DONE);
  });
});

describeUnless(installPythonPackages(FOLDER))('a client in Python', () => {
  const env = { PYTHONPATH: 'generated', MYPYPATH: 'generated' };

  beforeAll(async () => {
    for (const api of APIS) {
      const output = [
        '--output-path',
        `generated/generated_python/${api}`,
        '--meta',
        'none',
        '--config',
        'python/config.yaml',
      ];
      const args = ['generate', '--path', `generated/${api}.json`, ...output, '--fail-on-warning'];
      await run('.venv/bin/openapi-python-client', args);
    }
    await run('.venv/bin/mypy', ['--strict', '--explicit-package-bases', 'python/main.py'], env);
  });

  it('made by openapi-python-client does what it says', async () => {
    expect(await done('.venv/bin/python', ['python/main.py'], env)).toEqual(DONE);
  });
});

/** Toolchains keep what they fetch in the caches of the user. */
const cached = { HOME: process.env['HOME'] ?? '' };

/** Makes a client with openapi-generator, which Maven fetches. */
async function generate(language: string, ...properties: readonly string[]): Promise<void> {
  const artifact = `-Dartifact=org.openapitools:${GENERATOR.replace('-7', ':7').replace('.jar', '')}`;
  await run('mvn', ['-q', '-B', 'dependency:copy', artifact, '-DoutputDirectory=generated'], cached);
  const more = properties.length === 0 ? [] : [`--additional-properties=${properties.join(',')}`];
  const repository = ['--git-user-id', 'gen', '--git-repo-id', 'client'];
  const output = ['-i', 'generated/public.json', '-g', language, '-o', `generated/${language}`];
  await run('java', ['-jar', `generated/${GENERATOR}`, 'generate', ...output, ...repository, ...more], cached);
}

describeUnless(missingToolchain('java', 'mvn'))('a client in Java', () => {
  it(
    'made by openapi-generator does what it says',
    async () => {
      const names = [
        'invokerPackage=gen',
        'apiPackage=gen.api',
        'modelPackage=gen.model',
        'groupId=gen',
        'artifactId=client',
      ];
      await generate('java', 'library=native', ...names);
      await run(
        'mvn',
        ['-q', '-B', '-f', 'generated/java', '-DskipTests', '-Dmaven.javadoc.skip=true', 'package'],
        cached,
      );
      const classes = 'generated/java/target/client-1.0.0.jar:generated/java/target/lib/*';
      expect(await done('java', ['-cp', classes, 'java/Main.java'])).toEqual(SCENARIO);
    },
    BUILD_TIMEOUT_MS,
  );
});

describeUnless(missingToolchain('go', 'java', 'mvn'))('a client in Go', () => {
  it(
    'made by openapi-generator does what it says',
    async () => {
      await generate('go', 'packageName=client', 'withGoMod=true');
      mkdirSync(join(FOLDER, 'generated/go/main'));
      copyFileSync(join(FOLDER, 'go/main.go'), join(FOLDER, 'generated/go/main/main.go'));
      await run('go', ['-C', 'generated/go', 'build', '-o', 'scenario', './main'], cached);
      expect(await done('generated/go/scenario', [])).toEqual(SCENARIO);
    },
    BUILD_TIMEOUT_MS,
  );
});

describeUnless(missingToolchain('go'))('a client in Go', () => {
  const made = (name: string, module: string) => {
    const folder = join(FOLDER, 'generated', name);
    mkdirSync(join(folder, 'api'), { recursive: true });
    writeFileSync(join(folder, 'go.mod'), `module ${module}\n\ngo 1.25\n`);
    copyFileSync(join(FOLDER, name, 'main.go'), join(folder, 'main.go'));
  };
  const build = async (name: string): Promise<void> => {
    await run('go', ['-C', `generated/${name}`, 'mod', 'tidy'], cached);
    await run('go', ['-C', `generated/${name}`, 'build', '-o', 'scenario', '.'], cached);
  };

  it(
    'made by ogen does what it says',
    async () => {
      made('ogen', 'gen/ogen');
      const args = ['--target', 'api', '--package', 'api', '--clean', '../public.json'];
      await run('go', ['-C', 'generated/ogen', 'run', 'github.com/ogen-go/ogen/cmd/ogen@v1.24.0', ...args], cached);
      await build('ogen');
      expect(await done('generated/ogen/scenario', [])).toEqual(SCENARIO);
    },
    BUILD_TIMEOUT_MS,
  );

  it(
    'made by oapi-codegen does what it says',
    async () => {
      made('oapi-codegen', 'gen/oapi');
      const generator = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
      const args = ['-config', '../../oapi-codegen/config.yaml', '../public.json'];
      await run('go', ['-C', 'generated/oapi-codegen', 'run', generator, ...args], cached);
      await build('oapi-codegen');
      expect(await done('generated/oapi-codegen/scenario', [])).toEqual(SCENARIO);
    },
    BUILD_TIMEOUT_MS,
  );
});

describeUnless(missingToolchain('cargo', 'java', 'mvn'))('a client in Rust', () => {
  it(
    'made by openapi-generator does what it says',
    async () => {
      await generate('rust', 'packageName=client');
      mkdirSync(join(FOLDER, 'generated/rust/examples'));
      copyFileSync(join(FOLDER, 'rust/main.rs'), join(FOLDER, 'generated/rust/examples/scenario.rs'));
      const manifest = ['--manifest-path', 'generated/rust/Cargo.toml'];
      await run(
        'cargo',
        ['add', '--dev', '--quiet', ...manifest, 'tokio@1', '--features', 'macros,rt-multi-thread'],
        cached,
      );
      await run('cargo', ['build', '--quiet', ...manifest, '--example', 'scenario'], cached);
      expect(await done('generated/rust/target/debug/examples/scenario', [])).toEqual(SCENARIO);
    },
    BUILD_TIMEOUT_MS,
  );
});
