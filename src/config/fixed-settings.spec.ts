/** Settings that apply at the start do not change with a reload. The docs list them as the schema does. */
import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { configOf, MINIMAL, OPENAPI } from '../../test/support/config-files.js';
import { fixedSettings, settingsToRestartFor, withFixedSettings } from './fixed-settings.js';
import { RESTART_PATHS } from './model/schema.js';

const load = (more = '') => configOf({ 'gateway.yaml': more + MINIMAL, 'customers.yaml': OPENAPI });

it('names the settings that differ and need a restart, and no others', async () => {
  const running = await load();
  const next = await load('api: { basePath: /v9, title: Next }\nadmin: { port: 9 }\nusage: { retention: 100d }\n');
  expect(settingsToRestartFor(running.file, next.file)).toEqual(['admin.port', 'api.basePath', 'usage.retention']);
  expect(settingsToRestartFor(running.file, running.file)).toEqual([]);
});

it('keeps what runs, also through JSON and where it is not set, and takes all the rest', async () => {
  const running = await load();
  const next = await load(
    'gateway: { hsts: { maxAge: 30d }, proxyStatus: true }\napi: { basePath: /v9, title: Next }\n',
  );
  const told = JSON.parse(JSON.stringify(fixedSettings(running.file))) as ReturnType<typeof fixedSettings>;
  const { file, publicUrl } = withFixedSettings(next, told);
  expect(settingsToRestartFor(running.file, file)).toEqual([]);
  expect([file.gateway.hsts, file.gateway.proxyStatus, file.api.title]).toEqual([
    expect.objectContaining({ maxAge: 365 }),
    true,
    'Next',
  ]);
  expect(publicUrl).toBe(running.publicUrl);
  expect(next.file.api.basePath).toBe('/v9');
});

it('stands in docs/configuration.md, setting by setting', () => {
  const [, sentence = ''] =
    /`config_needs_restart` names it: ([\s\S]*?)\. The other/.exec(readFileSync('docs/configuration.md', 'utf8')) ?? [];
  const named = Array.from(sentence.matchAll(/`([\w.]+)`/g), ([, name = '']) => name);
  // `gateway.host`, `port` and so on: the first of a group says where they are.
  let group = '';
  const paths = named.map((name) => {
    const isTop = name.includes('.') || ['tracing', 'apis'].includes(name);
    if (name.includes('.')) group = name.slice(0, name.lastIndexOf('.') + 1);
    return isTop ? name : group + name;
  });
  expect(paths.toSorted()).toEqual(RESTART_PATHS.map((path) => path.join('.')).toSorted());
});
