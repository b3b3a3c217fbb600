/** Checks that involve several settings. Works on a document with other problems. */
import { isIP } from 'node:net';
import { adminProblems } from './admin-checks.js';
import { lifeCycleProblems } from './life-cycle-checks.js';
import { isObject } from '../openapi/openapi-traversal.js';
import { oauthProblems } from './oauth-checks.js';
import type { ConfigProblem, DocumentPath } from '../model/problem.js';
import type { Environment } from '../model/schema.js';
import { valueAt } from './schema-problems.js';
import type { SourceDocument } from '../source/source-document.js';

const DEFAULT_PORTS = { gateway: 8080, admin: 8081, oauth: 8082 } as const;
const DEFAULT_HOSTS = { gateway: '0.0.0.0', admin: '127.0.0.1' } as const;
const ANY_HOSTS = new Set(['0.0.0.0', '::']);
const LOCAL_HOSTS = new Set(['localhost', '0.0.0.0', '::', '::1']);

/** Checks `gateway.yaml` and the environment together. */
export function crossProblems(source: SourceDocument, value: unknown, environment: Environment): ConfigProblem[] {
  return [
    ...adminProblems(source, value),
    ...lifeCycleProblems(source, value),
    ...oauthProblems(source, value),
    ...listenerProblems(source, value, environment),
  ];
}

interface Listener {
  readonly name: string;
  /** Path of its port setting. */
  readonly path: DocumentPath;
  readonly host: string;
  readonly port: unknown;
}

function listenersOf(value: unknown, environment: Environment): Listener[] {
  const of = (name: 'gateway' | 'admin'): Listener => {
    const host = valueAt(value, [name, 'host']);
    const port = environment[`${name}Port`] ?? valueAt(value, [name, 'port']) ?? DEFAULT_PORTS[name];
    return { name, path: [name, 'port'], host: typeof host === 'string' ? host : DEFAULT_HOSTS[name], port };
  };
  const among = (name: string, path: readonly string[], usualPort?: number): Listener[] => {
    const settings = valueAt(value, path);
    if (!isObject(settings)) return [];
    const host = typeof settings['host'] === 'string' ? settings['host'] : DEFAULT_HOSTS.admin;
    return [{ name, path: [...path, 'port'], host, port: settings['port'] ?? usualPort }];
  };
  const health = among('admin.health', ['admin', 'health']);
  return [of('gateway'), of('admin'), ...health, ...among('mcp.oauth', ['mcp', 'oauth'], DEFAULT_PORTS.oauth)];
}

function listenerProblems(source: SourceDocument, value: unknown, environment: Environment): ConfigProblem[] {
  const listeners = listenersOf(value, environment);
  const problems: ConfigProblem[] = [];
  for (const [index, listener] of listeners.entries()) {
    const other = listeners.slice(0, index).find((before) => isSamePlace(before, listener));
    if (other === undefined) continue;
    const message = `${listener.name} and ${other.name} both listen on port ${String(listener.port)}`;
    problems.push(source.problem(listener.path, message, 'give one of them another port'));
  }
  const services = valueAt(value, ['services']);
  for (const [name, service] of Object.entries(isObject(services) ? services : {})) {
    const targets = isObject(service) && Array.isArray(service['targets']) ? service['targets'] : [];
    for (const [index, target] of targets.entries()) {
      const own = listeners.find((listener) => leadsTo(target, listener));
      if (own === undefined) continue;
      const message = `the target ${String(target)} is the ${own.name} listener of this gateway`;
      problems.push(source.problem(['services', name, 'targets', index], message, 'name the address of the backend'));
    }
  }
  return problems;
}

function isSamePlace(one: Listener, other: Listener): boolean {
  if (one.port !== other.port || one.port === 0 || one.port === undefined) return false;
  return one.host === other.host || ANY_HOSTS.has(one.host) || ANY_HOSTS.has(other.host);
}

function leadsTo(target: unknown, listener: Listener): boolean {
  if (typeof target !== 'string' || !URL.canParse(target) || listener.port === 0) return false;
  const url = new URL(target);
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isLocal = LOCAL_HOSTS.has(host) || (isIP(host) === 4 && host.startsWith('127.')) || host === listener.host;
  return isLocal && port === listener.port;
}
