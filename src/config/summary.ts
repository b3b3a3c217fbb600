/** Summarizes the configuration for a log line at startup. The summary contains no secrets. */
import { apisOf } from './model/apis.js';
import type { Config } from './model/schema.js';

const SECRET_PARAMETER = /pass|secret|token|key/i;

/**
 * Returns the fields of the log line. Passwords in URLs become `***`. The summary only tells whether an admin token is
 * set.
 */
export function configSummary(config: Config): Record<string, unknown> {
  const { file, environment } = config;
  return {
    config: config.path,
    public_url: config.publicUrl,
    base_paths: apisOf(file).map(({ basePath }) => basePath),
    gateway: { host: file.gateway.host, port: file.gateway.port, tls: file.gateway.tls !== undefined },
    admin: { host: file.admin.host, port: file.admin.port, token: environment.adminToken !== undefined },
    database: environment.databaseUrl === undefined ? 'sqlite' : redactUrl(environment.databaseUrl),
    counters: environment.redisUrl === undefined ? 'in process' : redactUrl(environment.redisUrl),
    data_dir: environment.dataDir,
    log_level: environment.logLevel,
    services: Object.fromEntries(Object.entries(file.services).map(([name, service]) => [name, service.targets])),
    operations: config.operations.length,
    tools: config.tools?.length ?? 0,
    plans: Object.keys(file.plans),
  };
}

/** Replaces the password of a URL, and query parameters that look like secrets, with `***`. */
export function redactUrl(text: string): string {
  // URLs with several hosts cannot be parsed. Remove the user name, the password and the whole query.
  if (!URL.canParse(text)) return text.replace(/\/\/[^@/]*@/, '//***@').replace(/\?.*$/s, '?***');
  const url = new URL(text);
  if (url.password !== '') url.password = '***';
  for (const name of url.searchParams.keys()) {
    if (SECRET_PARAMETER.test(name)) url.searchParams.set(name, '***');
  }
  return url.href;
}
