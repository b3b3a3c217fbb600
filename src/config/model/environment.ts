/** Reads and validates environment variables at startup. A single error reports all invalid variables. */
import { parseSecretsKey } from '../../stores/secrets/secret-box.js';
import { parseRedisUrl } from '../../stores/redis/address.js';
import type { Environment } from './schema.js';
import { readVariable, VariableFileError, type Variables } from './variables.js';

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
const ADMIN_TOKEN_MIN_LENGTH = 32;
/** Matches a Bearer token (RFC 6750 section 2.1). */
const BEARER_TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
/** Advice on percent-encoding for error messages. */
const ESCAPES = 'in a user name or password / is written %2F, ? %3F, @ %40 and : %3A';

/**
 * Descriptions of the variables that the program reads, except `CLIENT_VARIABLES`. A test compares
 * `docs/configuration.md` with this table.
 */
export const ENVIRONMENT_VARIABLES = {
  TRAILGATE_GATEWAY_PORT: 'Port of the public listener, instead of `gateway.port`.',
  TRAILGATE_ADMIN_PORT: 'Port of the admin listener, instead of `admin.port`.',
  TRAILGATE_CUSTOMERS_PORT: 'Port of the reference customers backend.',
  CUSTOMERS_EVENTS_TOKEN: 'Token by which the reference customers backend hands in events.',
  DATABASE_URL: 'PostgreSQL (`postgres://…`). Without it: SQLite in the data folder.',
  REDIS_URL: 'Redis (`redis://…`, `redis+sentinel://…`, `redis+cluster://…`). Without it: counters in the process.',
  TRAILGATE_DATA_DIR: 'Folder for what the embedded stores keep.',
  TRAILGATE_ADMIN_TOKEN: 'Operator token of the admin API, at least 32 characters.',
  TRAILGATE_SECRETS_KEY:
    'Key that secrets in the database are sealed with, 32 bytes in base64: the same on every machine.',
  LOG_LEVEL: 'Least severe level that is logged.',
} as const;

type VariableName = keyof typeof ENVIRONMENT_VARIABLES;

/** EnvironmentError reports all problems of the environment. Its message can be shown unchanged. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

/**
 * Reads and validates the environment. Empty variables count as unset, because docker-compose passes unset variables as
 * empty. `NAME_FILE` can name a file that contains the value of any variable. Errors never repeat values that may be
 * secrets.
 * @throws EnvironmentError that names every invalid variable
 */
export function readEnvironment(variables: Variables = process.env): Environment {
  const problems: string[] = [];
  const text = (name: VariableName): string | undefined => {
    try {
      return readVariable(variables, name)?.trim() || undefined;
    } catch (error) {
      if (!(error instanceof VariableFileError)) throw error;
      problems.push(`${error.message}.`);
      return undefined;
    }
  };

  const port = (name: VariableName): number | undefined => {
    const value = text(name);
    if (value === undefined) return undefined;
    if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) return Number(value);
    problems.push(`${name} must be a port from 0 to 65535 (0: any free port), not "${value}".`);
    return undefined;
  };
  const url = (name: VariableName, protocols: readonly string[]): string | undefined => {
    const value = text(name);
    if (value === undefined) return undefined;
    const prefixes = protocols.map((protocol) => `${protocol}//`);
    const hasKnownProtocol = prefixes.some((start) => value.startsWith(start));
    const fault = hasKnownProtocol ? urlFault(value) : `must be a URL that starts with ${prefixes.join(' or ')}`;
    if (fault !== undefined) problems.push(`${name} ${fault}.`);
    return value;
  };

  const redisUrl = (): string | undefined => {
    const value = text('REDIS_URL');
    try {
      if (value !== undefined) parseRedisUrl(value);
      const fault = value === undefined ? undefined : escapeFault(value);
      if (fault !== undefined) problems.push(`REDIS_URL ${fault}.`);
    } catch (error) {
      problems.push(`REDIS_URL ${(error as Error).message}.`);
    }
    return value;
  };

  const adminToken = text('TRAILGATE_ADMIN_TOKEN');
  if (adminToken !== undefined && adminToken.length < ADMIN_TOKEN_MIN_LENGTH) {
    problems.push(
      `TRAILGATE_ADMIN_TOKEN must have at least ${ADMIN_TOKEN_MIN_LENGTH} characters, it has ${adminToken.length}. ` +
        'Make one with: openssl rand -hex 32',
    );
  }
  if (adminToken !== undefined && !BEARER_TOKEN.test(adminToken)) {
    problems.push(
      'TRAILGATE_ADMIN_TOKEN has characters that no Bearer token may have, such as a space or a line break. ' +
        'Make one with: openssl rand -hex 32',
    );
  }
  const secretsKey = text('TRAILGATE_SECRETS_KEY');
  if (secretsKey !== undefined && parseSecretsKey(secretsKey) === null) {
    problems.push('TRAILGATE_SECRETS_KEY must be 32 bytes in base64. Make one with: openssl rand -base64 32');
  }
  const logLevel = text('LOG_LEVEL') ?? 'info';
  if (!isLogLevel(logLevel)) problems.push(`LOG_LEVEL must be one of ${LOG_LEVELS.join(', ')}, not "${logLevel}".`);

  const environment = {
    ...optional('gatewayPort', port('TRAILGATE_GATEWAY_PORT')),
    ...optional('adminPort', port('TRAILGATE_ADMIN_PORT')),
    ...optional('customersPort', port('TRAILGATE_CUSTOMERS_PORT')),
    ...optional('databaseUrl', url('DATABASE_URL', ['postgres:', 'postgresql:'])),
    ...optional('redisUrl', redisUrl()),
    ...optional('adminToken', adminToken),
    ...optional('secretsKey', secretsKey),
    dataDir: text('TRAILGATE_DATA_DIR') ?? './data',
    logLevel: isLogLevel(logLevel) ? logLevel : 'info',
  } satisfies Environment;
  if (problems.length > 0) throw new EnvironmentError(problems);
  return environment;
}

/**
 * Returns why a text is not a valid URL, or undefined. The reason is a phrase that follows the name of the variable.
 * The reason never repeats the text, which may contain a password.
 */
function urlFault(text: string): string | undefined {
  return escapeFault(text) ?? (URL.canParse(text) ? undefined : `is not a URL that can be read: ${ESCAPES}`);
}

/**
 * Returns the fault of a URL that contains `#`, or `%` without two hex digits. Such a character would cut off or change
 * a password, and has no other use in these URLs.
 */
function escapeFault(text: string): string | undefined {
  if (text.includes('#')) return 'has a # that is not escaped: in a password it is written %23';
  return /%(?![\dA-Fa-f]{2})/.test(text) ? 'has a % that is not escaped: in a password it is written %25' : undefined;
}

function isLogLevel(value: string): value is Environment['logLevel'] {
  return (LOG_LEVELS as readonly string[]).includes(value);
}

function optional<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  return value === undefined ? {} : ({ [key]: value } as { [K in Key]: Value });
}

/**
 * Sets a variable of this process, for `gateway.yaml` and for child processes. Does nothing if the variable or its
 * `_FILE` variant already has a value.
 */
export function provideVariable(name: VariableName, value: string): void {
  const isSet = [name, `${name}_FILE`].some((each) => (process.env[each]?.trim() ?? '') !== '');
  if (!isSet) process.env[name] = value;
}

/** Returns the environment for a child process. `changes` also replace the `_FILE` variants of their variables. */
export function childEnvironment(changes: Readonly<Record<string, string>>): Record<string, string | undefined> {
  const files = Object.keys(changes).map((name) => [`${name}_FILE`, ''] as const);
  return { ...process.env, ...Object.fromEntries(files), ...changes };
}
