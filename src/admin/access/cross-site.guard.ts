/**
 * Rejects requests that a page of another site makes a browser send (CSRF). `SameSite=Lax` is not enough, because
 * browsers attach the session cookie to requests from sibling subdomains. Skips requests with a bearer token, and safe
 * methods, whose responses the same-origin policy protects.
 */
import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { needsNoSignIn } from '../../members/permissions.js';
import { csrfTokenOf, isSame } from '../../members/session-token.js';
import { Problem } from '../../platform/problems/errors.js';
import { operationOf } from '../openapi/operation-decorator.js';
import { principalOf } from './principal.js';
import { isPublic } from './public.js';
import { Site } from './site.js';

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

@Injectable()
export class CrossSiteGuard implements CanActivate {
  constructor(private readonly site: Site) {}

  canActivate(context: ExecutionContext): boolean {
    if (isPublic(context)) return true;
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (SAFE_METHODS.has(request.method)) return true;
    const principal = principalOf(request);
    // Check sign-in requests too. Otherwise, another site could sign its visitor in as someone else (login CSRF).
    const isSignIn = needsNoSignIn(operationOf(context).permission);
    const cookie = 'cookie' in principal ? principal.cookie : undefined;
    if (cookie === undefined && !isSignIn) return true;
    this.checkOrigin(request);
    if (cookie !== undefined) checkCsrfToken(request, cookie);
    return true;
  }

  /**
   * Checks `Origin` and `Sec-Fetch-Site`. Browsers send at least one of these headers with every unsafe request, and
   * pages cannot forge the headers.
   * @throws Problem `cross_site_request`
   */
  private checkOrigin({ headers }: FastifyRequest): void {
    const { origin } = headers;
    const site = headers['sec-fetch-site'];
    if (origin === undefined && site === undefined) {
      throw refusal('The request has neither Origin nor Sec-Fetch-Site. Programs send a token instead of a cookie.');
    }
    if (site !== undefined && site !== 'same-origin') throw refusal('The request comes from another site.');
    if (origin !== undefined && !this.site.isOwnOrigin(origin)) {
      throw refusal(`The request comes from a page of another origin than ${this.site.origin}.`);
    }
  }
}

/**
 * Checks `X-CSRF-Token`, whose value is derived from the session cookie.
 * @throws Problem `cross_site_request`
 */
function checkCsrfToken({ headers }: FastifyRequest, cookie: string): void {
  const token = headers['x-csrf-token'];
  if (typeof token === 'string' && isSame(token, csrfTokenOf(cookie))) return;
  throw refusal('X-CSRF-Token is missing, or belongs to another session. GET /admin/v1/me returns the right one.');
}

function refusal(detail: string): Problem {
  return new Problem('cross_site_request', { detail });
}
