/** Defines `trailgate keys …`, which manages the API keys of an account. */
import type { Command } from 'commander';
import { CommandError, type Fields } from './admin-client.js';
import { addCommands, defineCommand, limit, option } from './command-table.js';
import { perPeriod, WINDOW_PERIODS } from '../../platform/quotas/windows.js';
import { EXTERNAL_FIELDS, EXTERNAL_FILTERS, NO_EXTERNAL_ID, NO_METADATA, removedFields } from './external-options.js';
import { collectList, parseKeyLimit, parseOverlap } from './options.js';
import type { CommonOptions, Terminal } from './terminal.js';

const KEY_COLUMNS = ['id', 'name', 'status', 'hint', 'scopes', 'expires_at', 'last_used_at', 'month_used'];
const SHOWN_ONCE = "This secret is shown only once. Store it in a password manager or your server's environment.\n";

interface KeyOptions extends CommonOptions {
  /** False with `--no-expiry`. */
  readonly expiry?: boolean;
  readonly expiresAt?: string;
  readonly anyIp?: boolean;
  readonly minuteLimit?: number | 'none';
  readonly dayLimit?: number | 'none';
  readonly monthLimit?: number | 'none';
  readonly planLimits?: boolean;
  /** False with `--no-external-id`. */
  readonly externalId?: string | false;
  /** False with `--no-metadata`. */
  readonly metadata?: Fields | false;
}

/** Returns the body fields that depend on more than one option. Throws `CommandError` for contradictory options. */
function keyFields(options: KeyOptions): Fields {
  if (options.expiry === false && options.expiresAt !== undefined) {
    throw new CommandError('Use either --expires-at or --no-expiry, not both.');
  }
  return {
    expires_at: options.expiry === false ? null : options.expiresAt,
    ...(options.anyIp === true ? { allowed_ips: [] } : {}),
    limits: limitsOf(options),
    ...removedFields(options),
  };
}

/**
 * Returns the key's own limits. Returns undefined if no option sets limits, and null for the limits of the plan. Throws
 * `CommandError` for contradictory options.
 */
function limitsOf(options: KeyOptions): Fields | null | undefined {
  const limits = perPeriod((period) => {
    const given = options[`${period}Limit`];
    return given === 'none' ? null : given;
  });
  const hasLimit = WINDOW_PERIODS.some((period) => limits[period] !== undefined);
  if (options.planLimits !== true) return hasLimit ? limits : undefined;
  if (hasLimit) throw new CommandError('Use either --plan-limits, or --minute-limit, --day-limit and --month-limit.');
  return null;
}

const NAME = ['--name <name>', 'display name', 'name'] as const;
const EXPIRES_AT = option('--expires-at <time>', 'expiration as an RFC 3339 time', null);
const LIMITS = WINDOW_PERIODS.map((period) =>
  option(`--${period}-limit <n>`, `its own limit per ${period} instead of the plan's, or none`, null, {
    parse: parseKeyLimit,
  }),
);

const COMMANDS = [
  defineCommand('list <account>', 'list the API keys of an account, including revoked ones', 'listApiKeys', {
    columns: KEY_COLUMNS,
    options: [
      option('--search <text>', 'part of the name, the last characters of the secret, or the external id', 'q'),
      option('--status <status>', 'active, paused, expired or revoked; several separated by commas', 'status'),
      option('--sort <by>', 'created, name or last_used', 'sort'),
      option('--order <order>', 'asc or desc', 'order'),
      ...EXTERNAL_FILTERS,
      limit(100),
    ],
  }),
  defineCommand('get <key>', 'get an API key', 'getApiKey'),
  defineCommand('create <account>', 'create an API key; its secret is shown once', 'createApiKey', {
    options: [
      option(...NAME, { required: true }),
      option('--scope <scope>', 'scope; can be repeated', 'scopes', { parse: collectList, required: true }),
      option('--environment <environment>', 'live or test', 'environment'),
      EXPIRES_AT,
      option('--allow-ip <address>', 'allowed address or block; can be repeated', 'allowed_ips', {
        parse: collectList,
      }),
      ...LIMITS,
      ...EXTERNAL_FIELDS,
    ],
    fields: keyFields,
    note: SHOWN_ONCE,
  }),
  defineCommand('update <key>', 'update an API key; omitted options stay unchanged', 'updateApiKey', {
    options: [
      option(...NAME),
      option('--scope <scope>', 'scope; replaces all scopes; can be repeated', 'scopes', { parse: collectList }),
      EXPIRES_AT,
      option('--no-expiry', 'remove the expiration', null),
      option('--allow-ip <address>', 'allowed address or block; replaces all; can be repeated', 'allowed_ips', {
        parse: collectList,
      }),
      option('--any-ip', 'allow any address', null),
      option('--plan-limits', "use the plan's limits", null),
      ...LIMITS,
      ...EXTERNAL_FIELDS,
      NO_EXTERNAL_ID,
      NO_METADATA,
    ],
    fields: keyFields,
  }),
  defineCommand('rotate <key>', 'rotate an API key', 'rotateApiKey', {
    options: [
      option('--overlap <time>', 'how long the current secret keeps working: 0, 1h, 24h or 7d', 'overlap_seconds', {
        parse: parseOverlap,
        required: true,
      }),
      option('--end-previous', 'end a previous secret that still works', 'end_previous_secret'),
    ],
    note: SHOWN_ONCE,
  }),
  defineCommand('end-previous-secret <key>', 'end the previous secret immediately', 'endPreviousApiKeySecret'),
  defineCommand('pause <key>', 'pause an API key: requests are rejected until it is resumed', 'pauseApiKey'),
  defineCommand('resume <key>', 'resume a paused API key', 'resumeApiKey'),
  defineCommand('revoke <key>', 'revoke an API key permanently', 'revokeApiKey'),
];

/** Adds the commands of `trailgate keys`. */
export function addKeyCommands(program: Command, terminal: Terminal): void {
  addCommands(program, terminal, 'keys', 'manage the API keys of an account', COMMANDS);
}
