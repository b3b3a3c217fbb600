/** Parses REDIS_URL, which names a single Redis server, a master with Sentinels, or a Cluster. */

export interface RedisHost {
  readonly host: string;
  readonly port: number;
}

interface Credentials {
  readonly username?: string;
  readonly password?: string;
  readonly tls: boolean;
}

export type RedisAddress =
  | { readonly mode: 'standalone'; readonly url: string }
  | (Credentials & {
      readonly mode: 'sentinel';
      readonly hosts: readonly RedisHost[];
      readonly masterName: string;
      readonly db: number;
      /** Password of the Sentinels themselves. */
      readonly sentinelPassword?: string;
    })
  | (Credentials & { readonly mode: 'cluster'; readonly hosts: readonly RedisHost[] });

const FORMS =
  'redis://host:6379/0, redis+sentinel://host:26379,host:26379/master-name/0 or ' +
  'redis+cluster://host:6379,host:6379 (rediss… for TLS)';
const ESCAPES = 'in a password # is written %23, / %2F, ? %3F, @ %40 and % %25';
const DEFAULT_PORT = { sentinel: 26_379, cluster: 6_379 } as const;
const SEVERAL_HOSTS = /^redis(s?)\+(sentinel|cluster):\/\/(?:([^@/?#]*)@)?([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/;

/**
 * Parses a REDIS_URL.
 * @throws Error with a message that completes a sentence with the name of the variable as its subject. The message
 * never contains a password.
 */
export function parseRedisUrl(url: string): RedisAddress {
  if (/^rediss?:/.test(url)) {
    if (!URL.canParse(url)) throw new Error(`is not a URL: it should look like ${FORMS}; ${ESCAPES}`);
    return { mode: 'standalone', url };
  }
  if (/%(?![\dA-Fa-f]{2})/.test(url)) throw new Error(`has a % that is not escaped; ${ESCAPES}`);
  const match = SEVERAL_HOSTS.exec(url);
  if (match === null) throw new Error(`should look like ${FORMS}; ${ESCAPES}`);
  const [, tls = '', mode = '', user = '', hostList = '', path = '', query = ''] = match;
  const parts = path.split('/').slice(1).map(decodeURIComponent);
  const parameters = new URLSearchParams(query);
  if (mode === 'cluster') {
    if (parts.some((part) => part !== '')) throw new Error('names a path, but a Redis Cluster has no databases');
    rejectUnknown(parameters, []);
    return { mode, hosts: hostsOf(hostList, DEFAULT_PORT.cluster), ...credentials(user, tls) };
  }
  const [masterName = '', db = '0', ...more] = parts;
  if (masterName === '') throw new Error('names no master: add its name after the Sentinels, as in …:26379/mymaster');
  if (!/^\d{1,5}$/.test(db) || more.length > 0) throw new Error('must name the database as a number after the master');
  rejectUnknown(parameters, ['sentinelPassword']);
  const sentinelPassword = parameters.get('sentinelPassword');
  return {
    mode: 'sentinel',
    hosts: hostsOf(hostList, DEFAULT_PORT.sentinel),
    masterName,
    db: Number(db),
    ...credentials(user, tls),
    ...(sentinelPassword === null ? {} : { sentinelPassword }),
  };
}

function rejectUnknown(parameters: URLSearchParams, known: readonly string[]): void {
  const unknown = [...parameters.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`has a parameter that is not known: ${unknown}`);
}

function credentials(text: string, tls: string): Credentials {
  const [username = '', password] = text.split(/:(.*)/s).map(decodeURIComponent);
  return {
    ...(username === '' ? {} : { username }),
    ...(password === undefined || password === '' ? {} : { password }),
    tls: tls === 's',
  };
}

function hostsOf(text: string, defaultPort: number): RedisHost[] {
  if (text === '') throw new Error('names no host');
  // The error does not show the text, because text before an @ could be part of the password.
  if (text.includes('@')) throw new Error(`has an @ that is not escaped; ${ESCAPES}`);
  return text.split(',').map((entry) => {
    const match = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/i.exec(entry.trim());
    const port = Number(match?.[2] ?? defaultPort);
    if (match === null || port === 0 || port > 65_535) throw new Error(`has a host that is not host:port: "${entry}"`);
    return { host: match[1]!.replace(/^\[|\]$/g, ''), port };
  });
}
