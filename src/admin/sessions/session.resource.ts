/** Defines the session resource of the admin API, for the member of the session and for operators. */
import { z } from 'zod';
import type { Session } from '../../members/sessions.js';
import { encode } from '../openapi/encode.js';
import { idField, timeField } from '../openapi/fields.js';
import { listSchema } from '../request/list.js';

export const sessionSchema = z
  .object({
    id: idField('ses'),
    current: z.boolean().meta({ description: 'Whether this is the session of the request.' }),
    method: z.enum(['password', 'passkey', 'oidc', 'link', 'portal']),
    ip: z.string().max(45),
    user_agent: z.string().max(300),
    created_at: timeField,
    last_seen_at: timeField.meta({ description: 'Accurate to a minute.' }),
    ends_at: timeField,
  })
  .meta({ id: 'Session' });

export const sessionListSchema = listSchema('SessionList', sessionSchema, false);

export type SessionResource = z.output<typeof sessionSchema>;

/**
 * Returns the API resource of a session. Times are in UTC, because a member can have accounts in several time zones.
 * @param currentId ID of the session that sent the request. Null if an operator lists the sessions of a member.
 */
export function sessionResource(session: Session, currentId: string | null): SessionResource {
  return encode(sessionSchema, { ...session, current: session.id === currentId }, 'UTC');
}

/** Returns the response body of a list of sessions. All sessions are on one page, because members have only a few. */
export function sessionList(sessions: readonly Session[], currentId: string | null) {
  const data = sessions.map((session) => sessionResource(session, currentId));
  return { data, has_more: false, next_cursor: null };
}
