/**
 * What a client has sent behind the head of a WebSocket handshake (RFC 6455), from the listener
 * to the step that opens the WebSocket.
 */
import type { ClientMessage } from '../../http/client/client-response.js';

const heads = new WeakMap<ClientMessage, Buffer>();

/** Notes the bytes behind the head of a handshake that is to be upgraded. */
export function noteUpgradeHead(message: ClientMessage, head: Buffer): void {
  heads.set(message, head);
}

/** The bytes behind the head of a handshake that is to be upgraded; undefined for a request that is not one. */
export function upgradeHead(message: ClientMessage): Buffer | undefined {
  return heads.get(message);
}
