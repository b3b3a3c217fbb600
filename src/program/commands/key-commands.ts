/** `trailgate keys …`: API keys and their life. */
import type { Command } from 'commander';
import { CommandError, type Fields } from './admin-client.js';
import { addCommands, limit, option, row } from './command-table.js';
import { perPeriod, WINDOW_PERIODS } from '../../platform/quotas/windows.js';
import { EXTERNAL_FIELDS, EXTERNAL_FILTERS, NO_EXTERNAL_ID, NO_METADATA, removedFields } from './external-options.js';
import { collectList, parseKeyLimit, parseOverlap } from './options.js';
import type { CommonOptions, Terminal } from './terminal.js';

const KEY_COLUMNS = ['id', 'name', 'status', 'hint', 'scopes', 'expires_at', 'last_used_at', 'month_used'];
const SHOWN_ONCE = 'The secret is shown only now: store it where the integrator will find it, and nowhere else.\n';

interface KeyOptions extends CommonOptions {
  /** False: `--no-expiry`. */
  readonly expiry?: boolean;
  readonly expiresAt?: string;
  readonly anyIp?: boolean;
  readonly minuteLimit?: number | 'none';
  readonly dayLimit?: number | 'none';
  readonly monthLimit?: number | 'none';
  readonly planLimits?: boolean;
  /** False: `--no-external-id`. */
  readonly externalId?: string | false;
  /** False: `--no-metadata`. */
  readonly metadata?: Fields | false;
}

/** The fields that more than one option decides. */
function keyFields(options: KeyOptions): Fields {
  if (options.expiry === false && options.expiresAt !== undefined) {
    throw new CommandError('--expires-at and --no-expiry exclude each other.');
  }
  return {
    expires_at: options.expiry === false ? null : options.expiresAt,
    ...(options.anyIp === true ? { allowed_ips: [] } : {}),
    limits: limitsOf(options),
    ...removedFields(options),
  };
}

/** Undefined where no limit is named; null for the plan's. */
function limitsOf(options: KeyOptions): Fields | null | undefined {
  const limits = perPeriod((period) => {
    const given = options[`${period}Limit`];
    return given === 'none' ? null : given;
  });
  const isNamed = WINDOW_PERIODS.some((period) => limits[period] !== undefined);
  if (options.planLimits !== true) return isNamed ? limits : undefined;
  if (isNamed) throw new CommandError('--plan-limits excludes --minute-limit, --day-limit and --month-limit.');
  return null;
}

const NAME = ['--name <name>', 'a name for people', 'name'] as const;
const EXPIRES_AT = option('--expires-at <time>', 'RFC 3339 time at which it stops working', null);
const LIMITS = WINDOW_PERIODS.map((period) =>
  option(`--${period}-limit <n>`, `its own limit per ${period} instead of the plan's, or none`, null, {
    parse: parseKeyLimit,
  }),
);

const COMMANDS = [
  row('list <account>', 'list the keys of an account, the revoked ones too', 'listApiKeys', {
    columns: KEY_COLUMNS,
    options: [
      option('--search <text>', 'part of a name, the end of a secret, or an external id', 'q'),
      option(
        '--status <status>',
        'active, paused, expired or revoked; some of them with commas between them',
        'status',
      ),
      option('--sort <by>', 'created, name or last_used', 'sort'),
      option('--order <order>', 'asc or desc', 'order'),
      ...EXTERNAL_FILTERS,
      limit(100),
    ],
  }),
  row('get <key>', 'show a key', 'getApiKey'),
  row('create <account>', 'create a key; its secret is shown once', 'createApiKey', {
    options: [
      option(...NAME, { required: true }),
      option('--scope <scope>', 'a scope; may be repeated', 'scopes', { parse: collectList, required: true }),
      option('--environment <environment>', 'live or test', 'environment'),
      EXPIRES_AT,
      option('--allow-ip <address>', 'an address or block that may use it; may be repeated', 'allowed_ips', {
        parse: collectList,
      }),
      ...LIMITS,
      ...EXTERNAL_FIELDS,
    ],
    fields: keyFields,
    note: SHOWN_ONCE,
  }),
  row('update <key>', 'change a key; what is not named stays', 'updateApiKey', {
    options: [
      option(...NAME),
      option('--scope <scope>', 'all the scopes that it shall have; may be repeated', 'scopes', { parse: collectList }),
      EXPIRES_AT,
      option('--no-expiry', 'it never expires', null),
      option('--allow-ip <address>', 'all the addresses that may use it; may be repeated', 'allowed_ips', {
        parse: collectList,
      }),
      option('--any-ip', 'any address may use it', null),
      option('--plan-limits', "the plan's limits again", null),
      ...LIMITS,
      ...EXTERNAL_FIELDS,
      NO_EXTERNAL_ID,
      NO_METADATA,
    ],
    fields: keyFields,
  }),
  row('rotate <key>', 'give a key a new secret', 'rotateApiKey', {
    options: [
      option('--overlap <time>', 'how long the current secret keeps working: 0, 1h, 24h or 7d', 'overlap_seconds', {
        parse: parseOverlap,
        required: true,
      }),
      option('--end-previous', 'end a previous secret that still works', 'end_previous_secret'),
    ],
    note: SHOWN_ONCE,
  }),
  row('end-previous-secret <key>', 'end the previous secret of a rotation at once', 'endPreviousApiKeySecret'),
  row('pause <key>', 'refuse a key until it goes on', 'pauseApiKey'),
  row('resume <key>', 'let a paused key go on as it is', 'resumeApiKey'),
  row('revoke <key>', 'end a key for good', 'revokeApiKey'),
];

/** Adds the group. */
export function addKeyCommands(program: Command, terminal: Terminal): void {
  addCommands(program, terminal, 'keys', 'the API keys of an account', COMMANDS);
}
