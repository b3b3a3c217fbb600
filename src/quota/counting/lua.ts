/**
 * Lists the Lua scripts that the counting process implements. Gateways send the scripts in the same way as to Redis.
 */
import { hash } from 'node:crypto';
import { DECIDE_LUA } from '../redis/scripts/decide.js';
import { HEARTBEAT_LUA } from '../redis/scripts/heartbeat.js';
import { MONTHS_LUA } from '../redis/scripts/months.js';
import { REPLAY_LUA, UNDO_LUA } from '../redis/scripts/outage.js';
import { READ_LUA } from '../redis/scripts/read.js';
import { REFUND_LUA } from '../redis/scripts/refund.js';
import { SEED_LUA } from '../redis/scripts/seed.js';
import { SET_USED_LUA } from '../redis/scripts/set-used.js';
import { THROTTLE_LUA, THROTTLE_REFUND_LUA } from '../redis/scripts/throttle.js';
import { TIME_LUA } from '../redis/scripts/time.js';

/** Scripts by the name of the function that implements them. */
export const LUA = {
  decide: DECIDE_LUA,
  read: READ_LUA,
  months: MONTHS_LUA,
  setUsed: SET_USED_LUA,
  refund: REFUND_LUA,
  undo: UNDO_LUA,
  replay: REPLAY_LUA,
  seed: SEED_LUA,
  throttle: THROTTLE_LUA,
  refundHit: THROTTLE_REFUND_LUA,
  heartbeat: HEARTBEAT_LUA,
  time: TIME_LUA,
} as const;

/** Hash of all scripts. A gateway and a counting process with the same hash are compatible. */
export const LUA_HASH = hash('sha256', Object.values(LUA).join('\0'));
