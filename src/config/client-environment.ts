/** Reads the environment variables of the commands that call a running admin API. */
import { readVariable, type Variables } from './model/variables.js';

/** Address of the admin API, credentials, and other settings of the client commands. */
export interface ClientEnvironment {
  /** Origin, without a trailing slash. */
  readonly adminUrl: string;
  readonly adminToken: string | undefined;
  /** Data folder of the server. Its file `admin-token` contains the token to use if `adminToken` is undefined. */
  readonly dataDir: string;
  /** API key for `trailgate bench`. */
  readonly benchKey: string | undefined;
  /** All variables of the process, for files with references such as `${NAME}`. */
  readonly variables: Variables;
}

/**
 * Descriptions of the variables that only client commands read. `readClientEnvironment` also reads variables of the
 * server.
 */
export const CLIENT_VARIABLES = {
  TRAILGATE_ADMIN_URL: 'Where the client commands find the admin API.',
  TRAILGATE_BENCH_KEY: 'API key with which `trailgate bench` calls the gateway.',
} as const;

const DEFAULT_ADMIN_URL = 'http://127.0.0.1:8081';

/** Reads the environment. Empty variables count as unset. @throws VariableFileError as `readVariable` does */
export function readClientEnvironment(variables: Variables = process.env): ClientEnvironment {
  const text = (name: string): string | undefined => readVariable(variables, name)?.trim() || undefined;
  return {
    adminUrl: (text('TRAILGATE_ADMIN_URL') ?? DEFAULT_ADMIN_URL).replace(/\/+$/, ''),
    adminToken: text('TRAILGATE_ADMIN_TOKEN'),
    dataDir: text('TRAILGATE_DATA_DIR') ?? './data',
    benchKey: text('TRAILGATE_BENCH_KEY'),
    variables,
  };
}
