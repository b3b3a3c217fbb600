/**
 * Stores the bytes that a client sent after the head of a WebSocket handshake (RFC 6455). The code that opens the
 * WebSocket reads them.
 */
import type { ClientMessage } from '../../http/client/client-response.js';

const heads = new WeakMap<ClientMessage, Buffer>();

/** Stores the bytes after the head of a handshake. */
export function storeUpgradeHead(message: ClientMessage, head: Buffer): void {
  heads.set(message, head);
}

/** Returns the bytes after the head of a handshake, or undefined for other requests. */
export function upgradeHead(message: ClientMessage): Buffer | undefined {
  return heads.get(message);
}
