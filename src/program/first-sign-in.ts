/** Creates the one-time links with which the first operator, or the operator of the demo, signs in. */
import { systemClock } from '../platform/clock.js';
import type { Log } from '../platform/log.js';
import { RepeatedRun } from '../platform/repeated-run.js';
import type { Running } from './start.js';

/** Pause between attempts while the database is unavailable. */
const RETRY_INTERVAL_MS = 5_000;

/**
 * Logs a sign-in link if no operator exists. Does nothing without the admin role. Retries in the background while the
 * database is unavailable, because the program already serves requests.
 */
export function logFirstOwnerLink({ members, panelUrl }: Running, log: Log): void {
  if (members === undefined) return;
  let hasFailed = false;
  const logLink = new RepeatedRun(
    async () => {
      const token = await members.firstOwner.createLink();
      void logLink.stop();
      if (token !== null) writeLink(linkUrl(panelUrl, token), log);
    },
    RETRY_INTERVAL_MS,
    (error) => {
      if (hasFailed) return;
      hasFailed = true;
      const text = 'Cannot read whether anyone can sign in to the panel; trying again';
      log.logger.warn({ event: 'first_owner_unknown', err: error }, text);
    },
  );
  logLink.start();
}

function writeLink(url: string, log: Log): void {
  const time = new Date(systemClock.now()).toISOString();
  const msg =
    'No one can sign in to the panel yet. The first person who opens this link within 24 hours becomes its operator';
  // The line is written at any log level, because the operator needs the link.
  log.write(`${JSON.stringify({ level: 'info', time, event: 'first_owner_link', url, msg })}\n`);
}

/** Creates a link that signs in the operator of the demo. Rejects if this process lacks the admin role. */
export async function demoLink({ members, panelUrl }: Running): Promise<string> {
  if (members === undefined) throw new Error('the demo has the admin role');
  return linkUrl(panelUrl, await members.firstOwner.startLink());
}

/**
 * Returns a link with the token in its fragment. Browsers do not send fragments to servers or proxies, nor in
 * `Referer`.
 */
function linkUrl(panelUrl: string | undefined, token: string): string {
  return `${panelUrl ?? ''}/link#${token}`;
}
