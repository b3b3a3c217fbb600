/**
 * Stores the bytes that clients sent after the head of a WebSocket handshake (RFC 6455), until the WebSocket is opened.
 */
import type { ClientMessage } from '../../http/client/client-response.js';

const heads = new WeakMap<ClientMessage, Buffer>();

/** Stores the bytes that follow the head of a handshake. */
export function storeUpgradeHead(message: ClientMessage, head: Buffer): void {
  heads.set(message, head);
}

/**
 * Returns the bytes that follow the head of a handshake; empty if there are none. Returns undefined for requests that
 * Node has not upgraded.
 */
export function upgradeHead(message: ClientMessage): Buffer | undefined {
  return heads.get(message);
}
