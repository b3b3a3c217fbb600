/** Reads the cookies by which the panel recognizes a browser, and sets these cookies after a sign-in. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { KNOWN_BROWSER_SECONDS } from '../../members/sign-in/known-browsers.js';
import type { Browser, SignedInMember } from '../../members/sign-in/sign-in.js';
import type { Site } from '../access/site.js';

/** Returns the address, user agent, request ID and cookies of a browser. A missing cookie is undefined. */
export function browserOf(request: FastifyRequest, site: Site): Browser {
  const { cookie, 'user-agent': userAgent = '' } = request.headers;
  return {
    ip: request.ip,
    userAgent,
    requestId: request.id,
    session: site.readCookie(cookie, 'session'),
    known: site.readCookie(cookie, 'known'),
  };
}

/**
 * Sets the session cookie of a completed sign-in, and the cookie `known` of browsers in which a member has signed in.
 */
export function setSessionCookies(reply: FastifyReply, site: Site, { token, known }: SignedInMember): void {
  const cookies = [site.setCookieValue('session', token), site.setCookieValue('known', known, KNOWN_BROWSER_SECONDS)];
  reply.header('Set-Cookie', cookies);
}
