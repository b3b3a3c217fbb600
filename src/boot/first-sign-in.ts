/** How the first person gets in: a link that works once, said by the program that was just started. */
import { systemClock } from '../platform/clock.js';
import type { Log } from '../platform/log.js';
import type { Running } from './start.js';

/** Says how to become the operator, as long as there is none. */
export async function tellFirstOwner({ members, panelUrl }: Running, log: Log): Promise<void> {
  const token = await members?.firstOwner.link();
  if (token === undefined || token === null) return;
  const time = new Date(systemClock.now()).toISOString();
  const url = linkUrl(panelUrl, token);
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
