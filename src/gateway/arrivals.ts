/** The first thing that happens to a request: it gets its name, and who sends it is found out. */
import proxyAddress from '@fastify/proxy-addr';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { plainAddress } from '../keys/address-list.js';
import { discardRest } from '../proxy/discard-body.js';
import { KEEP_ALIVE_TIMEOUT_MS } from './connections.js';
import { Exchange } from './exchange.js';
import { originForm } from './framing.js';
import type { RequestLog } from './request-log.js';

/** Whether an address is that of a proxy of ours. */
type Trusts = (address: string, hop: number) => boolean;

export class Arrivals {
  private readonly trusts: Trusts | undefined;

  /** @param trustedProxies addresses and networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed. */
  constructor(
    private readonly requestLog: RequestLog,
    trustedProxies: readonly string[],
  ) {
    this.trusts = trustedProxies.length === 0 ? undefined : proxyAddress.compile([...trustedProxies]);
  }

  /** The exchange of a request, which is counted and logged when its connection is done with it. */
  begin(message: IncomingMessage, response: ServerResponse): Exchange {
    const exchange = new Exchange(
      message,
      response,
      originForm(message),
      this.addressOf(message),
      this.schemeOf(message),
    );
    // For the `Keep-Alive` field, which Node writes by this.
    (response as ServerResponse & { _keepAliveTimeout: number })._keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
    response.on('close', () => this.end(exchange));
    return exchange;
  }

  private end(exchange: Exchange): void {
    const { message } = exchange;
    exchange.closeListener?.onClose();
    // Answered without a look at the body: it must not trickle in for ever.
    if (!message.complete) discardRest(message);
    this.requestLog.record(exchange);
  }

  /** Where a request comes from: what a trusted proxy says, as far as it is an address; else the other end of the connection. */
  private addressOf(message: IncomingMessage): string {
    const direct = plainAddress(message.socket.remoteAddress ?? '');
    if (this.trusts === undefined) return direct;
    const told = plainAddress(proxyAddress.all(message, this.trusts).at(-1) ?? '');
    return isIP(told) === 0 ? direct : told;
  }

  /** What the client spoke: the connection says it, or the trusted proxy at its other end. */
  private schemeOf({ socket, headers }: IncomingMessage): 'http' | 'https' {
    if (this.trusts?.(socket.remoteAddress ?? '', 0) === true) {
      const told = headers['x-forwarded-proto'];
      if (told !== undefined) return String(told).split(',').at(-1)?.trim() === 'https' ? 'https' : 'http';
    }
    return 'encrypted' in socket ? 'https' : 'http';
  }
}
