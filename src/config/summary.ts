/** The configuration in force as one log line at start: what an operator checks first, and no secret. */
import type { Config } from './model/schema.js';

const SECRET_PARAMETER = /pass|secret|token|key/i;

/** A plain object for the log. Passwords in URLs read `***`; the admin token is only said to be there or not. */
export function configSummary(config: Config): Record<string, unknown> {
  const { file, environment } = config;
  return {
    config: config.path,
    public_url: config.publicUrl,
    base_path: file.api.basePath,
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

/** The URL with its password, and parameters that look like secrets, as `***`. */
export function redactUrl(text: string): string {
  // Several hosts are no URL: no value of theirs is shown that could be a secret.
  if (!URL.canParse(text)) return text.replace(/\/\/[^@/]*@/, '//***@').replace(/\?.*$/s, '?***');
  const url = new URL(text);
  if (url.password !== '') url.password = '***';
  for (const name of url.searchParams.keys()) {
    if (SECRET_PARAMETER.test(name)) url.searchParams.set(name, '***');
  }
  return url.href;
}
