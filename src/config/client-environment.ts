/** What the environment tells the commands that talk to a running admin API. */
import type { Variables } from './model/environment.js';

/** Where the admin API is and how to sign in. */
export interface ClientEnvironment {
  /** Origin, without a trailing slash. */
  readonly adminUrl: string;
  readonly adminToken: string | undefined;
  /** Holds `admin-token` where the environment gives none. */
  readonly dataDir: string;
}

/** Variables that only the client commands read; the others they share with the server. */
export const CLIENT_VARIABLES = {
  TRAILGATE_ADMIN_URL: 'Where the client commands find the admin API.',
} as const;

const DEFAULT_ADMIN_URL = 'http://127.0.0.1:8081';

/** Reads the environment; an empty variable counts as one that is not set. */
export function readClientEnvironment(variables: Variables = process.env): ClientEnvironment {
  const text = (name: string): string | undefined => variables[name]?.trim() || undefined;
  return {
    adminUrl: (text('TRAILGATE_ADMIN_URL') ?? DEFAULT_ADMIN_URL).replace(/\/+$/, ''),
    adminToken: text('TRAILGATE_ADMIN_TOKEN'),
    dataDir: text('TRAILGATE_DATA_DIR') ?? './data',
  };
}
