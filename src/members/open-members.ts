/** Puts together what signs people in and says what they may. */
import type { DatabaseHandle } from '../database/connect.js';
import type { Clock } from '../platform/clock.js';
import { AccountAccess } from './account-access.js';
import { AccountTokens } from './account-tokens.js';
import { Sessions, type SessionLimits } from './sessions.js';

/** What members stand on. */
export interface MembersParts {
  readonly database: DatabaseHandle;
  readonly clock: Clock;
  readonly sessionLimits: () => SessionLimits;
}

/** The parts of members. */
export interface Members {
  readonly access: AccountAccess;
  readonly tokens: AccountTokens;
  readonly sessions: Sessions;
}

/** Opens them on a database. */
export function openMembers({ database, clock, sessionLimits }: MembersParts): Members {
  return {
    access: new AccountAccess(database.db),
    tokens: new AccountTokens(database, clock),
    sessions: new Sessions(database, clock, sessionLimits),
  };
}
