/** Reads the configuration of the customers backend from environment variables, once at startup. */
import { z } from 'zod';

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
const DEFAULT_PORT = 4001;

export interface CustomersConfig {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Folder of the SQLite file. */
  readonly dataDir: string;
  /** Accounts to seed if they are new and have no customers. The first one gets 10,000 customers, each other one 50. */
  readonly seedAccounts: readonly string[];
  readonly logLevel: (typeof LOG_LEVELS)[number];
  /**
   * Undefined unless `CUSTOMERS_EVENTS_URL` and `CUSTOMERS_EVENTS_TOKEN` are both set. No events are emitted in that
   * case.
   */
  readonly events?: EventsConfig;
}

/** Endpoint to which events are sent. */
export interface EventsConfig {
  /** URL of the gateway's `/internal/v1/events`. */
  readonly url: string;
  /** Bearer token, which equals `eventsToken` of this service in the configuration of the gateway. */
  readonly token: string;
}

/** StartError prevents the start. Its message says what to do, and is printed without a stack trace. */
export class StartError extends Error {}

const accountIds = z
  .string()
  .default('')
  .transform((text) => [...new Set(text.split(',').map((id) => id.trim()))].filter((id) => id !== ''));

const environmentSchema = z.object({
  TRAILGATE_CUSTOMERS_HOST: z.string().default('127.0.0.1'),
  TRAILGATE_CUSTOMERS_PORT: z.coerce
    .number({ error: 'must be a port number from 0 to 65535' })
    .int('must be a port number from 0 to 65535')
    .min(0, 'must be a port number from 0 to 65535')
    .max(65_535, 'must be a port number from 0 to 65535')
    .default(DEFAULT_PORT),
  CUSTOMERS_DATA_DIR: z.string().default('./data/customers'),
  CUSTOMERS_SEED_ACCOUNTS: accountIds,
  CUSTOMERS_EVENTS_URL: z
    .string()
    .regex(/^https?:\/\/[^/]+\//, "must be the URL of the gateway's /internal/v1/events")
    .optional(),
  CUSTOMERS_EVENTS_TOKEN: z.string().optional(),
  LOG_LEVEL: z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` }).default('info'),
});

/**
 * Reads and validates the environment. Empty variables count as unset.
 * @throws StartError that names every invalid variable
 */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): CustomersConfig {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = environmentSchema.safeParse(present);
  if (!parsed.success) {
    throw new StartError(parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; '));
  }
  const values = parsed.data;
  return {
    host: values.TRAILGATE_CUSTOMERS_HOST,
    port: values.TRAILGATE_CUSTOMERS_PORT,
    dataDir: values.CUSTOMERS_DATA_DIR,
    seedAccounts: values.CUSTOMERS_SEED_ACCOUNTS,
    logLevel: values.LOG_LEVEL,
    ...eventsOf(values.CUSTOMERS_EVENTS_URL, values.CUSTOMERS_EVENTS_TOKEN),
  };
}

function eventsOf(url: string | undefined, token: string | undefined): { events?: EventsConfig } {
  return url === undefined || token === undefined ? {} : { events: { url, token } };
}
