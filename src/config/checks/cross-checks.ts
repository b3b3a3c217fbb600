/** Checks that compare several settings, such as the ports of two listeners. `gateway.yaml` may have other problems. */
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

/**
 * Returns the problems of settings of `gateway.yaml` and the environment that do not fit together.
 * @param value unvalidated `gateway.yaml`
 */
export function crossProblems(source: SourceDocument, value: unknown, environment: Environment): ConfigProblem[] {
  return [
    ...adminProblems(source, value),
    ...lifeCycleProblems(source, value),
    ...oauthProblems(source, value),
    ...listenerProblems(source, value, environment),
  ];
}

/** A listener as `gateway.yaml` and the environment configure it. The port is not validated. */
interface Listener {
  readonly name: string;
  /** Path of the port setting in `gateway.yaml`. */
  readonly path: DocumentPath;
  readonly host: string;
  readonly port: unknown;
}

function listenersOf(value: unknown, environment: Environment): Listener[] {
  const listener = (name: 'gateway' | 'admin'): Listener => {
    const host = valueAt(value, [name, 'host']);
    const port = environment[`${name}Port`] ?? valueAt(value, [name, 'port']) ?? DEFAULT_PORTS[name];
    return { name, path: [name, 'port'], host: typeof host === 'string' ? host : DEFAULT_HOSTS[name], port };
  };
  const optionalListener = (name: string, path: readonly string[], defaultPort?: number): Listener[] => {
    const settings = valueAt(value, path);
    if (!isObject(settings)) return [];
    const host = typeof settings['host'] === 'string' ? settings['host'] : DEFAULT_HOSTS.admin;
    return [{ name, path: [...path, 'port'], host, port: settings['port'] ?? defaultPort }];
  };
  const health = optionalListener('admin.health', ['admin', 'health']);
  return [
    listener('gateway'),
    listener('admin'),
    ...health,
    ...optionalListener('mcp.oauth', ['mcp', 'oauth'], DEFAULT_PORTS.oauth),
  ];
}

function listenerProblems(source: SourceDocument, value: unknown, environment: Environment): ConfigProblem[] {
  const listeners = listenersOf(value, environment);
  const problems: ConfigProblem[] = [];
  for (const [index, listener] of listeners.entries()) {
    const other = listeners.slice(0, index).find((before) => sharePort(before, listener));
    if (other === undefined) continue;
    const message = `${listener.name} and ${other.name} both listen on port ${String(listener.port)}`;
    problems.push(source.problem(listener.path, message, 'give one of them another port'));
  }
  const services = valueAt(value, ['services']);
  for (const [name, service] of Object.entries(isObject(services) ? services : {})) {
    const targets = isObject(service) && Array.isArray(service['targets']) ? service['targets'] : [];
    for (const [index, target] of targets.entries()) {
      const match = listeners.find((listener) => isAddressOf(target, listener));
      if (match === undefined) continue;
      const message = `the target ${String(target)} is the ${match.name} listener of this gateway`;
      problems.push(source.problem(['services', name, 'targets', index], message, 'name the address of the backend'));
    }
  }
  return problems;
}

/** Reports whether two listeners would listen on the same address and port. Port 0 (any free port) never conflicts. */
function sharePort(one: Listener, other: Listener): boolean {
  if (one.port !== other.port || one.port === 0 || one.port === undefined) return false;
  return one.host === other.host || ANY_HOSTS.has(one.host) || ANY_HOSTS.has(other.host);
}

/** Reports whether a target of a service is the address of a listener of this gateway. */
function isAddressOf(target: unknown, listener: Listener): boolean {
  if (typeof target !== 'string' || !URL.canParse(target) || listener.port === 0) return false;
  const url = new URL(target);
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isLocal = LOCAL_HOSTS.has(host) || (isIP(host) === 4 && host.startsWith('127.')) || host === listener.host;
  return isLocal && port === listener.port;
}
