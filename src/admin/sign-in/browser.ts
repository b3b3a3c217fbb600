/** Reads the sign-in cookies of a browser and sets its session. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { KNOWN_BROWSER_SECONDS } from '../../members/sign-in/known-browsers.js';
import type { Browser, SignedInMember } from '../../members/sign-in/sign-in.js';
import type { Site } from '../access/site.js';

/** Returns the cookies and address of the browser. */
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

/** Sets the cookies of a completed sign-in and clears the cookie of its previous step. */
export function setSessionCookies(reply: FastifyReply, site: Site, { token, known }: SignedInMember): void {
  const cookies = [site.cookie('session', token), site.cookie('known', known, KNOWN_BROWSER_SECONDS)];
  reply.header('Set-Cookie', cookies);
}
