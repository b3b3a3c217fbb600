/**
 * Opens connections to destinations that a customer or another party has chosen. The resolved addresses are checked
 * here, because a later DNS look-up could return others. The socket connects to exactly the checked address, and the
 * address of its peer is verified before the first byte is sent.
 */
import { connect as connectPlain, isIPv6, type NetConnectOpts, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { ipv6Groups } from '../../platform/network-list.js';
import { checkAddress, type Destination, type OutboundRules } from './destination.js';
import type { ResolveName } from './name-resolver.js';
import { codeOf, type FailureReason, OutboundFailed } from './outbound-failed.js';

/** Maximum number of addresses of a name to which a connection is tried. */
const MAX_TRIES = 3;

export interface GuardedSocketOptions {
  readonly rules: OutboundRules;
  readonly resolve: ResolveName;
  /** Timeout of the attempt to connect to one address, including TLS. */
  readonly connectTimeoutMs: number;
  /** Certificate authorities that replace Node's. Only for tests. */
  readonly tls?: Pick<ConnectionOptions, 'ca'>;
  /** Opens a socket. Only for tests. */
  readonly connect?: (options: NetConnectOpts) => Socket;
}

/**
 * Opens a connection on which a request can be written.
 * @param signal aborts the attempt, and later destroys the connection.
 * @throws OutboundRefused if an address is not allowed.
 * @throws OutboundFailed if no connection could be opened.
 */
export async function openGuardedSocket(
  destination: Destination,
  options: GuardedSocketOptions,
  signal: AbortSignal,
): Promise<Socket> {
  const { host, isAddress } = destination;
  const addresses = isAddress ? [host] : await unlessAborted(options.resolve(host), signal);
  // Refuse the name if any of its addresses is refused. A mix of allowed and refused addresses is a sign of an attack.
  for (const address of addresses) checkAddress(address, options.rules);
  let failure = new OutboundFailed('name_not_found');
  for (const address of addresses.slice(0, MAX_TRIES)) {
    try {
      return await openAt(address, destination, options, signal);
    } catch (error) {
      if (!(error instanceof OutboundFailed) || signal.aborted) throw error;
      // Report the attempt that made the most progress. A wrong certificate is more useful to know than an unreachable
      // IPv6 address.
      if (stageOf(error) > stageOf(failure)) failure = error;
    }
  }
  throw failure;
}

/** Progress of an attempt, by the reason of its failure. A higher number means more progress. */
const STAGES: Partial<Record<FailureReason, number>> = {
  connect_failed: 1,
  connect_timeout: 2,
  connection_closed: 3,
  tls_failed: 4,
};

function stageOf({ reason }: OutboundFailed): number {
  return STAGES[reason] ?? 0;
}

async function openAt(
  address: string,
  destination: Destination,
  options: GuardedSocketOptions,
  signal: AbortSignal,
): Promise<Socket> {
  const { connect = connectPlain, connectTimeoutMs, rules } = options;
  // `host` is an IP address, so Node does not resolve a name.
  const socket = connect({ host: address, port: destination.port, noDelay: true });
  const onAbort = (): void => void socket.destroy(new OutboundFailed('response_timeout'));
  signal.addEventListener('abort', onAbort, { once: true });
  socket.once('close', () => signal.removeEventListener('abort', onAbort));
  if (signal.aborted) onAbort();
  const timer = setTimeout(() => socket.destroy(new OutboundFailed('connect_timeout')), connectTimeoutMs);
  try {
    await waitUntilOpen(socket, 'connect_failed');
    checkPeer(socket.remoteAddress, address, rules);
    return destination.isSecure ? await startTls(socket, destination, options) : socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Checks that the peer of a socket has the intended address, and that this address is allowed. */
function checkPeer(remote: string | undefined, intended: string, rules: OutboundRules): void {
  if (remote === undefined) throw new OutboundFailed('connection_closed');
  checkAddress(remote, rules);
  if (!isSameAddress(remote, intended)) throw new OutboundFailed('connect_failed', 'another address');
}

function isSameAddress(one: string, other: string): boolean {
  if (!isIPv6(one) || !isIPv6(other)) return one === other;
  return ipv6Groups(one).join(':') === ipv6Groups(other).join(':');
}

async function startTls(socket: Socket, destination: Destination, options: GuardedSocketOptions): Promise<Socket> {
  const { host, isAddress } = destination;
  const secure = connectTls({
    ...options.tls,
    socket,
    // `host` is the name that the certificate must match. RFC 6066 section 3: an IP address is not a valid server name.
    host,
    ...(isAddress ? {} : { servername: host }),
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
  });
  await waitUntilOpen(secure, 'tls_failed');
  return secure;
}

/**
 * Resolves when the socket is connected, or its TLS handshake is complete. Rejects if the socket fails or closes before
 * that.
 */
function waitUntilOpen(socket: Socket, reason: 'connect_failed' | 'tls_failed'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(reason === 'tls_failed' ? 'secureConnect' : 'connect', resolve);
    // This listener stays on the socket, so that later errors are handled. Those errors are followed by `close`.
    socket.on('error', (error) =>
      reject(error instanceof OutboundFailed ? error : new OutboundFailed(reason, codeOf(error))),
    );
    socket.once('close', () => reject(new OutboundFailed(reason, 'closed')));
  });
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(new OutboundFailed('name_unresolved', 'timeout'));
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
