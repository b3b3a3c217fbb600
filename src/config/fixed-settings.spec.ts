/** Settings that apply at the start do not change with a reload. The docs list them as the schema does. */
import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { configOf, MINIMAL, OPENAPI } from '../../test/support/config-files.js';
import { fixedSettings, settingsToRestartFor, withFixedSettings } from './fixed-settings.js';
import { RESTART_PATHS } from './model/schema.js';

const load = (more = '') => configOf({ 'gateway.yaml': more + MINIMAL, 'customers.yaml': OPENAPI });

it('lists exactly the changed settings that need a restart', async () => {
  const running = await load();
  const next = await load('api: { basePath: /v9, title: Next }\nadmin: { port: 9 }\nusage: { retention: 100d }\n');
  expect(settingsToRestartFor(running.file, next.file)).toEqual(['admin.port', 'api.basePath', 'usage.retention']);
  expect(settingsToRestartFor(running.file, running.file)).toEqual([]);
});

it('keeps the running fixed settings, even after JSON or if unset, and applies all others', async () => {
  const running = await load();
  const next = await load(
    'gateway: { hsts: { maxAge: 30d }, proxyStatus: true }\napi: { basePath: /v9, title: Next }\n',
  );
  const received = JSON.parse(JSON.stringify(fixedSettings(running.file))) as ReturnType<typeof fixedSettings>;
  const { file, publicUrl } = withFixedSettings(next, received);
  expect(settingsToRestartFor(running.file, file)).toEqual([]);
  expect([file.gateway.hsts, file.gateway.proxyStatus, file.api.title]).toEqual([
    expect.objectContaining({ maxAge: 365 }),
    true,
    'Next',
  ]);
  expect(publicUrl).toBe(running.publicUrl);
  expect(next.file.api.basePath).toBe('/v9');
});

it('docs/configuration.md lists exactly the settings that need a restart', () => {
  const [, sentence = ''] =
    /`config_needs_restart` names it: ([\s\S]*?)\. The other/.exec(readFileSync('docs/configuration.md', 'utf8')) ?? [];
  const named = Array.from(sentence.matchAll(/`([\w.]+)`/g), ([, name = '']) => name);
  // In a list such as `gateway.host`, `port`, only the first of a group has the full path.
  let group = '';
  const paths = named.map((name) => {
    const isTop = name.includes('.') || ['tracing', 'apis'].includes(name);
    if (name.includes('.')) group = name.slice(0, name.lastIndexOf('.') + 1);
    return isTop ? name : group + name;
  });
  expect(paths.toSorted()).toEqual(RESTART_PATHS.map((path) => path.join('.')).toSorted());
});
