/**
 * Step 2 of 4: who is calling. Refuses with 429 an address that has sent too many wrong keys, before it looks at the key; then
 * with 401, 403 for the address or a suspended account, 503 when nobody can tell.
 */
import type { IncomingMessage } from 'node:http';
import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { plainAddress } from '../keys/address-list.js';
import { Authenticator, DeniedKey } from '../keys/authenticator.js';
import { bearerSecret } from '../keys/bearer.js';
import { isPrivateAddress } from '../keys/client-network.js';
import { FailedAttempts } from '../keys/failed-attempts.js';
import type { KnownKey } from '../keys/known-key.js';
import { UsageRecorder } from '../quotas/usage-recorder.js';
import type { Exchange, GatewayRequest } from './exchange.js';

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
    exchange.refusal = this.failedAttempts.refusal(clientAddress);
    if (exchange.refusal !== undefined) return false;
    try {
      const secret = bearerSecret(message.headers.authorization, message.rawHeaders, url);
      const key = this.authenticator.authenticate(secret, clientAddress);
      return key instanceof Promise ? this.acceptLater(exchange, key) : accept(exchange, key);
    } catch (error) {
      this.failed(exchange, error);
      throw error;
    }
  }

  private async acceptLater(exchange: Exchange, key: Promise<KnownKey>): Promise<true> {
    try {
      return accept(exchange, await key);
    } catch (error) {
      this.failed(exchange, error);
      throw error;
    }
  }

  private failed({ message, clientAddress, operation }: Exchange, error: unknown): void {
    // A refusal of a known key stands in its usage.
    if (error instanceof DeniedKey && error.key.subject !== undefined && operation !== undefined) {
      this.recorder.denied(error.key.subject, operation);
    }
    this.failedAttempts.note(error, clientAddress, () => isUnknownProxy(message, clientAddress));
  }
}

function accept(exchange: Exchange, key: KnownKey): true {
  exchange.key = key;
  exchange.subject = key.subject;
  return true;
}

/**
 * Whether the address is that of a proxy among ours which `trustedProxies` does not name: it says for whom it speaks, and is not
 * on the internet, from where anyone could say so.
 */
function isUnknownProxy({ headers, socket }: IncomingMessage, clientAddress: string): boolean {
  if (headers['x-forwarded-for'] === undefined && headers['forwarded'] === undefined) return false;
  return clientAddress === plainAddress(socket.remoteAddress ?? '') && isPrivateAddress(clientAddress);
}
