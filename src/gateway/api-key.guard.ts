/** Step 2 of 4: who is calling. Refuses with 401, 403 for the address or a suspended account, 503 when nobody can tell. */
import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Authenticator } from '../keys/authenticator.js';
import { bearerSecret } from '../keys/bearer.js';
import type { KnownKey } from '../keys/known-key.js';
import type { GatewayRequest } from './exchange.js';

@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(private readonly authenticator: Authenticator) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.getArgByIndex<GatewayRequest>(0);
    const { message, url, clientAddress } = request.exchange;
    const secret = bearerSecret(message.headers.authorization, message.rawHeaders, url);
    const key = this.authenticator.authenticate(secret, clientAddress);
    return key instanceof Promise ? key.then((found) => accept(request, found)) : accept(request, key);
  }
}

function accept(request: GatewayRequest, key: KnownKey): true {
  request.exchange.key = key;
  request.exchange.subject = key.subject;
  return true;
}
