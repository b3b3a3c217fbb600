/** Host names that the admin listener accepts. */
import { expect, it } from '@jest/globals';
import { hostRefusal } from './host-check.js';

const PUBLIC = 'https://admin.example.com';
const settings = { hosts: ['admin', 'Gateway.internal.', '10.0.0.7', '2001:db8::7'] };

it.each([
  'admin.example.com',
  'ADMIN.example.com.',
  'admin.example.com:8443',
  'localhost',
  'localhost:18081',
  'panel.localhost',
  '127.0.0.1:8081',
  '[::1]:8081',
  'admin:8081',
  'gateway.internal',
  '10.0.0.7:8081',
  '[2001:db8::7]:8081',
  undefined,
])('accepts Host %s', (host) => {
  expect(hostRefusal(host, settings, PUBLIC)).toBeUndefined();
});

it.each([
  'evil.example',
  'admin.example.com.evil.example',
  'evil.example:8081',
  'xadmin.example.com',
  'example.com',
  '127.0.0.1.evil.example',
  'localhost.evil.example',
  '169.254.169.254',
  '[2001:db8::8]',
  'admin.example.com@evil.example',
  'evil.example, admin.example.com',
  'admin.example.com/',
  '',
  ' ',
  'null',
])('refuses Host %j as misdirected', (host) => {
  expect(hostRefusal(host, settings, PUBLIC)?.code).toBe('misdirected_request');
});
