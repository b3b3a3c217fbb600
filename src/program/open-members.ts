/** What signs people in, as the admin role has it. */
import { adminUrlOf } from '../config/model/admin-url.js';
import type { Config } from '../config/model/schema.js';
import { openMembers, type Members } from '../members/sign-in/open-members.js';
import { offeredWaysOf } from '../members/ways.js';
import type { SessionLimits } from '../members/sessions.js';
import { systemClock } from '../platform/clock.js';
import type { Log } from '../platform/log.js';
import { keyFor } from '../stores/secrets/secret-box.js';
import type { Domain } from './open-domain.js';

/** Opens it. The operators' token is one that every node has, so that a browser is known on all of them. */
export function openMembersOf(
  {
    config,
    database,
    keyStore,
    quotas,
    secretBox,
  }: Pick<Domain, 'config' | 'database' | 'keyStore' | 'quotas' | 'secretBox'>,
  operatorToken: string,
  log: Log,
): Members {
  return openMembers({
    database,
    clock: systemClock,
    log: log.logger,
    keys: keyStore,
    sessionLimits: () => sessionLimitsOf(config.current),
    windows: quotas.throttleWindows,
    secretBox,
    browserKey: keyFor('known-browsers', operatorToken),
    offeredWays: () => offeredWaysOf(config.current.file.admin.signIn),
    hasMail: () => config.current.file.admin.mail !== undefined,
    returnOrigins: () => config.current.file.admin.portal.returnOrigins,
    host: () => new URL(adminUrlOf(config.current.file.admin)).hostname,
  });
}

function sessionLimitsOf({ file }: Config): SessionLimits {
  const { idle, absolute } = file.admin.sessions;
  return { idleMs: idle, absoluteMs: absolute };
}
