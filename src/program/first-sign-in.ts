/** How the first person gets in: a link that works once, said by the program that was just started. */
import { systemClock } from '../platform/clock.js';
import type { Log } from '../platform/log.js';
import { RepeatedRun } from '../platform/repeated-run.js';
import type { Running } from './start.js';

/** Between two tries while the database is away. */
const RETRY_INTERVAL_MS = 5_000;

/**
 * Says how to become the operator, as long as there is none. The program serves requests by now: a database that is
 * away does not end it, and is asked again.
 */
export function tellFirstOwner({ members, panelUrl }: Running, log: Log): void {
  if (members === undefined) return;
  let hasFailed = false;
  const telling = new RepeatedRun(
    async () => {
      const token = await members.firstOwner.link();
      void telling.stop();
      if (token !== null) sayLink(linkUrl(panelUrl, token), log);
    },
    RETRY_INTERVAL_MS,
    (error) => {
      if (hasFailed) return;
      hasFailed = true;
      const text = 'Whether somebody can sign in to the panel is not known; looked for again';
      log.logger.warn({ event: 'first_owner_unknown', err: error }, text);
    },
  );
  telling.start();
}

function sayLink(url: string, log: Log): void {
  const time = new Date(systemClock.now()).toISOString();
  const msg = 'Nobody can sign in to the panel yet: whoever opens this within 24 hours becomes its operator';
  // Whatever the level: whoever started the program waits for this line.
  log.write(`${JSON.stringify({ level: 'info', time, event: 'first_owner_link', url, msg })}\n`);
}

/** A link that signs in as the operator of the demo. */
export async function demoLink({ members, panelUrl }: Running): Promise<string> {
  if (members === undefined) throw new Error('the demo has the admin role');
  return linkUrl(panelUrl, await members.firstOwner.startLink());
}

/** The token stands behind the `#`: no server, proxy or Referer sees it. */
function linkUrl(panelUrl: string | undefined, token: string): string {
  return `${panelUrl ?? ''}/link#${token}`;
}
