/** Default tool names are accepted by every client and differ between operations. */
import { expect, it } from '@jest/globals';
import { defaultToolName } from './tool-name.js';

it.each([
  ['listCustomers', 'list_customers'],
  ['getHTTPServer2', 'get_http_server2'],
  ['repos/list-for-org', 'repos_list_for_org'],
  ['GetÉtat', 'get_etat'],
  ['2fa.status', 'tool_2fa_status'],
  ['__proto__', 'proto'],
  ['constructor', 'constructor'],
  ['客户', 'get_customers'],
  ['x'.repeat(40), 'x'.repeat(40)],
])('%s gets the tool name %s', (id, name) => {
  expect(defaultToolName(id, 'GET /customers')).toEqual({ name, isCut: false });
});

it.each([
  ['actions/listSelectedRepositoriesEnabledForTheOrganization', /^actions_list_selected_\w+_[0-9a-f]{4}$/],
  ['x'.repeat(200), /^x{35}_[0-9a-f]{4}$/],
  [`list${' of the'.repeat(20)} customers`, /^list_customers_[0-9a-f]{4}$/],
])('%s is shortened with a hash', (id, expected) => {
  const { name, isCut } = defaultToolName(id, '');
  expect(isCut).toBe(true);
  expect(name).toMatch(expected);
  expect(name.length).toBeLessThanOrEqual(40);
  expect(name).toMatch(/^[a-z][a-z0-9_]{0,39}$/);
  expect(defaultToolName(`${id}s`, '').name).not.toBe(name);
});
