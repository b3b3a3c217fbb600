/** The image and docker-compose.yml match the program. These tests need no Docker. */
import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { loadConfig } from '../src/config/load.js';
import { configSchema } from '../src/config/model/schema.js';
import { ENVIRONMENT_VARIABLES, readEnvironment } from '../src/config/model/environment.js';
import { readConfig as readCustomersConfig } from '../src/customers/model/config.js';

interface Service {
  readonly image?: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly profiles?: readonly string[];
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const compose = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as Compose;
const dockerfile = readFileSync('Dockerfile', 'utf8');
const service = (name: string): Service => {
  const found = compose.services[name];
  if (found === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return found;
};

/** Substitutes variables as compose does: `${NAME:?words}` and `${NAME:-default}`. */
function fill(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_match, name: string, kind?: string, rest = '') => {
    const value = variables[name] ?? '';
    if (value === '' && kind === '?') throw new Error(`${name}: ${rest}`);
    return value === '' && kind === '-' ? rest : value;
  });
}

const SECRETS = { POSTGRES_PASSWORD: 'a'.repeat(64), TRAILGATE_ADMIN_TOKEN: 'b'.repeat(64) };
const environmentOf = (name: string) =>
  Object.fromEntries(
    Object.entries(service(name).environment ?? {}).map(([key, value]) => [key, fill(String(value), SECRETS)]),
  );

describe('docker-compose.yml', () => {
  it('runs gateway and admin as separate containers of one image', () => {
    expect(service('gateway').image).toBe(service('admin').image);
    expect(service('gateway').command?.slice(-2)).toEqual(['--roles', 'gateway']);
    expect(service('admin').command?.slice(-2)).toEqual(['--roles', 'admin,worker']);
  });

  it.each(['gateway', 'admin'])('gives %s only variables that it reads, with values that it accepts', (name) => {
    const environment = environmentOf(name);
    expect(Object.keys(ENVIRONMENT_VARIABLES)).toEqual(expect.arrayContaining(Object.keys(environment)));
    expect(readEnvironment(environment)).toMatchObject({
      databaseUrl: `postgres://trailgate:${SECRETS.POSTGRES_PASSWORD}@postgres:5432/trailgate`,
      redisUrl: 'redis://redis:6379',
    });
  });

  it('gives the customers backend only variables that it reads, on a port that the gateway forwards to', () => {
    const environment = environmentOf('customers');
    const source = readFileSync('src/customers/model/config.ts', 'utf8');
    expect(Object.keys(environment).filter((name) => !source.includes(`  ${name}: `))).toEqual([]);
    expect(readCustomersConfig(environment)).toMatchObject({ host: '0.0.0.0', port: 4001 });
    expect(readFileSync('deploy/gateway.yaml', 'utf8')).toContain('http://customers:4001');
  });

  it('requires its secrets', () => {
    const text = readFileSync('docker-compose.yml', 'utf8');
    for (const name of Object.keys(SECRETS)) {
      expect(() => fill(text, { ...SECRETS, [name]: '' })).toThrow(name);
      expect(readFileSync('.env.example', 'utf8')).toContain(`${name}=\n`);
    }
  });

  it('publishes only the gateway, and the admin listener and Grafana on this machine', () => {
    const published = Object.entries(compose.services).flatMap(([name, { ports = [] }]) =>
      ports.map((port) => `${name} ${port}`),
    );
    expect(published).toEqual(['gateway 8080:8080', 'admin 127.0.0.1:8081:8081', 'grafana 127.0.0.1:3000:3000']);
    for (const name of ['redis', 'postgres', 'customers', 'prometheus'])
      expect(service(name).networks).toEqual(['internal']);
    expect(compose.networks['internal']).toEqual({ internal: true });
  });

  it('stores the data of Redis, PostgreSQL, the backend, Prometheus and Grafana in volumes', () => {
    const redis = service('redis').command?.join(' ');
    expect(redis).toContain('--appendonly yes --appendfsync everysec --maxmemory-policy noeviction');
    expect(service('redis').volumes).toEqual(['redis-data:/data']);
    expect(service('postgres').volumes).toEqual(['postgres-data:/var/lib/postgresql/data']);
    expect(service('customers').volumes).toEqual(['customers-data:/data']);
    expect(Object.keys(compose.volumes)).toEqual([
      'redis-data',
      'postgres-data',
      'customers-data',
      'prometheus-data',
      'grafana-data',
    ]);
    expect([service('redis').image, service('postgres').image]).toEqual(['redis:7-alpine', 'postgres:17-alpine']);
  });

  it('waits for the dependencies of a container to be healthy', () => {
    for (const [name, { depends_on: needs = {}, healthcheck, build }] of Object.entries(compose.services)) {
      expect({ name, checked: healthcheck !== undefined || build !== undefined }).toEqual({ name, checked: true });
      for (const [need, { condition }] of Object.entries(needs)) {
        expect(condition).toBe('service_healthy');
        expect(compose.services).toHaveProperty(need);
      }
    }
    expect(Object.keys(service('gateway').depends_on ?? {}).toSorted()).toEqual(['customers', 'postgres', 'redis']);
  });

  it('starts Prometheus and Grafana only on request, with the dashboard', () => {
    const observing = Object.entries(compose.services).filter(([, { profiles }]) => profiles !== undefined);
    expect(observing.map(([name, { profiles }]) => [name, profiles])).toEqual([
      ['prometheus', ['observe']],
      ['grafana', ['observe']],
    ]);
    const provider = parse(readFileSync('deploy/grafana/provisioning/dashboards/trailgate.yaml', 'utf8')) as {
      readonly providers: readonly { readonly options: { readonly path: string } }[];
    };
    const [{ options: { path } } = { options: { path: '' } }] = provider.providers;
    expect(service('grafana').volumes).toContain(`./deploy/grafana/board.json:${path}/board.json:ro`);
    const scraped = parse(readFileSync('deploy/prometheus.yaml', 'utf8')) as {
      readonly scrape_configs: readonly { readonly dns_sd_configs: readonly { readonly names: readonly string[] }[] }[];
    };
    expect(scraped.scrape_configs[0]?.dns_sd_configs[0]?.names).toEqual(['gateway', 'admin']);
  });

  it('mounts files that exist', () => {
    const mounted = Object.values(compose.services)
      .flatMap(({ volumes = [] }) => volumes)
      .filter((volume) => volume.startsWith('./'))
      .map((volume) => volume.split(':')[0] ?? '');
    expect(mounted.length).toBeGreaterThan(0);
    expect(mounted.filter((path) => !existsSync(path))).toEqual([]);
  });

  it('uses a configuration without problems or warnings', async () => {
    const loaded = await loadConfig('deploy/gateway.yaml', readEnvironment({}), {});
    expect(loaded).not.toHaveProperty('problems');
    expect(loaded).toHaveProperty('warnings', []);
  });
});

describe('the systemd unit', () => {
  const unit = readFileSync('deploy/systemd/trailgate.service', 'utf8');
  const valueOf = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? '';

  it('starts the built program with the Node of the project, and allows time for its shutdown', () => {
    const [node, main, command] = valueOf('ExecStart').split(' ');
    expect([node, main, command]).toEqual(['/opt/trailgate/node_modules/.bin/node', 'dist/main.js', 'start']);
    const { delay = 0, drain } = configSchema.parse({ services: {}, plans: {} }).gateway.shutdown;
    expect(Number(valueOf('TimeoutStopSec')) * 1_000).toBeGreaterThanOrEqual(delay + drain + 10_000);
  });

  it('stores data in its state directory, and sets only variables that the program reads', () => {
    const [name = '', folder = ''] = valueOf('Environment').split('=');
    expect(Object.keys(ENVIRONMENT_VARIABLES)).toContain(name);
    expect(folder).toBe(`/var/lib/${valueOf('StateDirectory')}`);
    expect([valueOf('ProtectSystem'), valueOf('NoNewPrivileges'), valueOf('UMask')]).toEqual(['strict', 'yes', '0077']);
  });
});

describe('the image', () => {
  const ignored = readFileSync('.dockerignore', 'utf8').split('\n');

  it('copies files that exist and that .dockerignore includes', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = '']) =>
      paths.split(' '),
    );
    expect(copied).toContain('package-lock.json');
    expect(copied.filter((path) => !existsSync(path))).toEqual([]);
    expect(copied.filter((path) => !ignored.includes(`!${path}`))).toEqual([]);
    expect(ignored).toContain('*');
  });

  it('runs as a non-root user, with an exec entrypoint and without development dependencies', () => {
    const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    expect(last).toContain('\nUSER 1000:1000\n');
    expect(last).toMatch(/\nENTRYPOINT \["node", .*"dist\/main\.js"\]/);
    expect(last).toMatch(/\nCMD \["start", /);
    expect(last).toContain('--from=dependencies /app/node_modules');
    expect(dockerfile).toContain('npm ci --omit=dev --omit=optional');
  });

  it('sets the variables of the C library that the documentation lists', () => {
    const set = [...dockerfile.matchAll(/^\s+(MALLOC_\w+)=(\w+)/gm)].map(
      ([, name, value]) => `| \`${name}\` | \`${value}\` |`,
    );
    const documented = readFileSync('docs/configuration.md', 'utf8').match(/^\| `MALLOC_\w+` \| `\w+` \|/gm);
    expect(set).toHaveLength(2);
    expect(documented).toEqual(set);
  });

  it('checks /livez on the admin listener for its health, with a bash that starts no other process', () => {
    const [, json = ''] = /HEALTHCHECK [^\n]*\\\n\s+CMD (\[.*\])/.exec(dockerfile) ?? [];
    const command = JSON.parse(json) as string[];
    expect(command.slice(0, 2)).toEqual(['bash', '-c']);
    expect(command[2]).toContain('/livez');
    expect(command[2]).toContain('TRAILGATE_ADMIN_PORT:-8081');
    expect(readFileSync('deploy/gateway.yaml', 'utf8')).toContain('admin:\n  host: 0.0.0.0\n  port: 8081\n');
    const builtins = spawnSync('bash', ['-c', 'compgen -b'], { encoding: 'utf8' }).stdout.split('\n');
    const names = command[2]?.split(' && ').map((part) => part.split(' ', 1)[0]);
    expect(names).toContain('read');
    expect(builtins).toEqual(expect.arrayContaining(names ?? []));
    // The command has no pipe, subshell or substitution, each of which would start a process.
    expect(command[2]).not.toMatch(/[|`()]/);
  });
});
