/**
 * Step 2 of 4: who is calling. Refuses with 429 an address that has sent too many wrong keys, before it looks at the key; then
 * with 401, 403 for the address or a suspended account, 503 when nobody can tell.
 */
import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Problem } from '../../problems/errors.js';
import { PlainRequest } from '../../http1/client/plain-request.js';
import { Authenticator, DeniedKey } from '../../keys/authenticator.js';
import { bearerSecret } from '../../keys/bearer.js';
import { FailedAttempts, isFailedAttempt } from '../../keys/failed-attempts.js';
import type { KnownKey } from '../../keys/known-key.js';
import { UsageRecorder } from '../../usage/usage-recorder.js';
import type { Exchange, GatewayRequest } from '../request/exchange.js';
import { isUnknownProxy } from '../request/unknown-proxy.js';

/** A request that has been read by hand has no two headers of that name. */
const ONCE: readonly string[] = [];

@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly failedAttempts: FailedAttempts,
    private readonly recorder: UsageRecorder,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const { exchange } = context.getArgByIndex<GatewayRequest>(0);
    const { message, url, clientAddress } = exchange;
    const throttled = this.failedAttempts.refusal(clientAddress);
    if (throttled !== undefined) {
      exchange.refusal = throttled;
      return false;
    }
    const secret = bearerSecret(
      message.headers.authorization,
      message instanceof PlainRequest ? ONCE : message.rawHeaders,
      url,
    );
    if (typeof secret !== 'string') return this.refuse(exchange, secret);
    const verdict = this.authenticator.authenticate(secret, clientAddress);
    return verdict instanceof Promise
      ? verdict.then((late) => this.apply(exchange, late))
      : this.apply(exchange, verdict);
  }

  private apply(exchange: Exchange, verdict: KnownKey | Problem): boolean {
    if (verdict instanceof Problem) return this.refuse(exchange, verdict);
    exchange.key = verdict;
    exchange.subject = verdict.subject;
    return true;
  }

  private refuse(exchange: Exchange, problem: Problem): false {
    const { message, clientAddress, operation } = exchange;
    exchange.refusal = problem;
    if (isFailedAttempt(problem.code)) this.failedAttempts.note(clientAddress, isUnknownProxy(message, clientAddress));
    // A refusal of a known key stands in its usage.
    else if (problem instanceof DeniedKey && problem.key.subject !== undefined && operation !== undefined) {
      this.recorder.denied(problem.key.subject, operation);
    }
    return false;
  }
}
