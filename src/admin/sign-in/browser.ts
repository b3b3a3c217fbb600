/** What a browser brings along to a sign-in, and what it is given. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { KNOWN_BROWSER_SECONDS } from '../../members/sign-in/known-browsers.js';
import type { Browser, SignedInMember } from '../../members/sign-in/sign-in.js';
import type { Site } from '../access/site.js';

/** What the browser of a request brought along. */
export function browserOf(request: FastifyRequest, site: Site): Browser {
  const { cookie, 'user-agent': userAgent = '' } = request.headers;
  return {
    ip: request.ip,
    userAgent,
    requestId: request.id,
    session: site.read(cookie, 'session'),
    known: site.read(cookie, 'known'),
  };
}

/** Gives the browser the cookies of a sign-in that is whole; a step that led to it is over. */
export function giveSession(reply: FastifyReply, site: Site, { token, known }: SignedInMember): void {
  const cookies = [site.cookie('session', token), site.cookie('known', known, KNOWN_BROWSER_SECONDS)];
  reply.header('Set-Cookie', cookies);
}
