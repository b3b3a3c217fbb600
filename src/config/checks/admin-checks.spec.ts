/** Addresses of the admin listener that `check` accepts, rejects and warns about. */
import { expect, it } from '@jest/globals';
import { configOf, MINIMAL, OPENAPI, problemsOf, warningsOf } from '../../../test/support/config-files.js';
import { adminUrlOf } from '../model/admin-url.js';

const files = (admin: string) => ({ 'gateway.yaml': `admin: ${admin}\n${MINIMAL}`, 'customers.yaml': OPENAPI });
const PUBLIC = 'host: 0.0.0.0, url: "https://admin.example.com", trustedProxies: [10.0.0.0/8]';

it.each([
  ['{ host: 0.0.0.0 }', 'admin.host', 'admin.url is missing'],
  ['{ host: 10.1.2.3, trustedProxies: [10.0.0.1] }', 'admin.host', 'admin.url is missing'],
  ['{ host: 0.0.0.0, url: "https://a.example.com" }', 'admin.url', 'neither this listener nor a trusted proxy has TLS'],
  ['{ url: "https://a.example.com" }', 'admin.url', 'neither this listener nor a trusted proxy has TLS'],
  ['{ url: "http://a.example.com" }', 'admin.url', 'must be https'],
  ['{ tls: { cert: ./none.crt, key: ./customers.yaml } }', 'admin.tls.cert', 'cannot be read'],
  ['{ url: "https://a.example.com/" }', 'admin.url', 'without a slash behind it'],
  ['{ url: "https://a.example.com/panel" }', 'admin.url', 'must be an origin'],
  ['{ url: "https://A.example.com" }', 'admin.url', 'in lower case'],
  ['{ url: "https://me@a.example.com" }', 'admin.url', 'must be an origin'],
  ['{ url: "*" }', 'admin.url', 'must be an origin'],
  ['{ sessions: { idle: 25h } }', 'admin.sessions.idle', 'must be at most 24h'],
  ['{ sessions: { idle: 2h, absolute: 1h } }', 'admin.sessions.idle', 'must not be longer'],
  ['{ portal: { returnOrigins: ["http://app.example.com"] } }', 'admin.portal.returnOrigins[0]', 'must be https'],
  ['{ mail: { url: "mail.example.com", from: a@b.example } }', 'admin.mail.url', 'must be smtps://'],
  ['{ mail: { url: "smtps://u:a%b@mail.example.com", from: a@b.example } }', 'admin.mail.url', '% %25'],
  ['{ mail: { url: "smtps://h?tls.rejectUnauthorized=false", from: a@b.example } }', 'admin.mail.url', 'must be a URL'],
  ['{ mail: { url: "smtps://h", from: Nobody } }', 'admin.mail.from', 'must be an address'],
  ['{ mail: { url: "smtps://h", from: "A\\r\\nBcc: x@y.example <a@b.example>" } }', 'admin.mail.from', ''],
  ['{ health: { host: 0.0.0.0 } }', 'admin.health', 'port'],
  ['{ health: { port: 8081 } }', 'admin.health.port', 'admin.health and admin both listen on port 8081'],
  ['{ health: { port: 8080 } }', 'admin.health.port', 'admin.health and gateway both listen on port 8080'],
])('rejects admin: %s at %s: %s', async (admin, path, words) => {
  const problems = await problemsOf(files(admin));
  expect(problems.map((problem) => problem.path)).toEqual([path]);
  expect(problems[0]?.message).toContain(words);
});

it.each([
  ['{ host: 127.0.0.1 }'],
  ['{ host: "::1" }'],
  ['{ host: 0.0.0.0, url: "http://localhost:8081", healthNetworks: [], operatorNetworks: [] }'],
  [`{ ${PUBLIC}, health: { host: 0.0.0.0, port: 8082 }, operatorNetworks: [10.1.0.0/16] }`],
  [`{ ${PUBLIC}, healthNetworks: [10.0.0.0/8], operatorNetworks: [10.1.0.0/16] }`],
])('accepts admin: %s without warnings', async (admin) => {
  await expect(warningsOf(files(admin))).resolves.toEqual([]);
});

it('warns about routes that are open to everyone on a listener that other machines can reach', async () => {
  const found = await warningsOf(files(`{ ${PUBLIC} }`));
  expect(found.map(({ path, message }) => `${path} ${message}`)).toEqual([
    'admin.url leaves /livez, /readyz and /metrics open to everybody who reaches it',
    "admin.url leaves the operators' routes, and attempts to guess the operator token, open to everybody who reaches it",
  ]);
});

it('warns about a missing TRAILGATE_SECRETS_KEY only with an external database', async () => {
  const database = { DATABASE_URL: 'postgres://trailgate@db/trailgate' };
  const [found, ...others] = await warningsOf(files('{}'), database);
  expect([found?.path, found?.message]).toEqual(['admin', expect.stringContaining('TRAILGATE_SECRETS_KEY is not')]);
  expect(others).toEqual([]);
  const key = { TRAILGATE_SECRETS_KEY: `${'a'.repeat(43)}=` };
  await expect(warningsOf(files('{}'), { ...database, ...key })).resolves.toEqual([]);
  await expect(warningsOf(files('{}'))).resolves.toEqual([]);
});

it('rejects an http admin.url if the listener has TLS', async () => {
  const problems = await problemsOf(files('{ tls: { cert: ./none.crt, key: ./none.key }, url: "http://localhost" }'));
  expect(problems.find(({ path }) => path === 'admin.url')?.message).toContain('has TLS');
});

it('does not repeat the password of the mail server in a problem', async () => {
  const problems = await problemsOf(
    files('{ mail: { url: "smtps://me:hunter2#x@mail.example.com", from: a@b.example } }'),
  );
  expect(JSON.stringify(problems)).not.toContain('hunter2');
  expect(problems).toHaveLength(1);
});

it('adminUrlOf returns admin.url, or localhost with the port of the listener', async () => {
  const urlOf = async (admin: string, port?: number) => adminUrlOf((await configOf(files(admin))).file.admin, port);
  expect(await urlOf('{}')).toBe('http://localhost:8081');
  expect(await urlOf('{ port: 0 }', 4711)).toBe('http://localhost:4711');
  expect(await urlOf('{ port: 80 }')).toBe('http://localhost');
  expect(await urlOf(`{ ${PUBLIC} }`, 4711)).toBe('https://admin.example.com');
});
