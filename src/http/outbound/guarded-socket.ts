/**
 * Opens a connection to a destination that a stranger has chosen. What a name leads to is judged here and not before:
 * its next answer may be another one. The addresses that were judged are those that are connected to, and the other end
 * of the socket is looked at once more before the first byte.
 */
import { connect as connectPlain, isIPv6, type NetConnectOpts, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { ipv6Groups } from '../../platform/network-list.js';
import { checkAddress, type Destination, type OutboundRules } from './destination.js';
import type { ResolveName } from './name-resolver.js';
import { codeOf, type FailureReason, OutboundFailed } from './outbound-failed.js';

/** How many addresses of a name are tried. */
const MOST_TRIES = 3;

/** What a connection is opened with. */
export interface GuardedSocketOptions {
  readonly rules: OutboundRules;
  readonly resolve: ResolveName;
  /** For each address that is tried, TLS included. */
  readonly connectTimeoutMs: number;
  /** Authorities beside those that Node knows. */
  readonly tls?: Pick<ConnectionOptions, 'ca'>;
  /** How a socket is opened; another one in tests. */
  readonly connect?: (options: NetConnectOpts) => Socket;
}

/**
 * Opens a connection that can be written to.
 * @param signal ends the attempt, and the connection as long as it is open.
 * @throws OutboundRefused where it would lead to where it must not; OutboundFailed where it could not be opened.
 */
export async function openGuardedSocket(
  destination: Destination,
  options: GuardedSocketOptions,
  signal: AbortSignal,
): Promise<Socket> {
  const { host, isAddress } = destination;
  const addresses = isAddress ? [host] : await unlessAborted(options.resolve(host), signal);
  // One that is refused is enough: whoever mixes them does so with a purpose.
  for (const address of addresses) checkAddress(address, options.rules);
  let failure = new OutboundFailed('name_not_found');
  for (const address of addresses.slice(0, MOST_TRIES)) {
    try {
      return await openAt(address, destination, options, signal);
    } catch (error) {
      if (!(error instanceof OutboundFailed) || signal.aborted) throw error;
      // The one that got furthest says what to mend: a wrong certificate, and not that IPv6 is closed.
      if (stageOf(error) > stageOf(failure)) failure = error;
    }
  }
  throw failure;
}

/** How far opening a connection came, by how it failed. */
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
  // An address: nothing is resolved again. And no proxy: none is asked for in any way.
  const socket = connect({ host: address, port: destination.port, noDelay: true });
  const onAbort = (): void => void socket.destroy(new OutboundFailed('response_timeout'));
  signal.addEventListener('abort', onAbort, { once: true });
  socket.once('close', () => signal.removeEventListener('abort', onAbort));
  if (signal.aborted) onAbort();
  const timer = setTimeout(() => socket.destroy(new OutboundFailed('connect_timeout')), connectTimeoutMs);
  try {
    await opened(socket, 'connect_failed');
    checkOtherEnd(socket.remoteAddress, address, rules);
    return destination.isSecure ? await secured(socket, destination, options) : socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** The other end is the address that was meant, and is allowed; a socket that has none any more leads nowhere. */
function checkOtherEnd(remote: string | undefined, meant: string, rules: OutboundRules): void {
  if (remote === undefined) throw new OutboundFailed('connection_closed');
  checkAddress(remote, rules);
  if (!isSameAddress(remote, meant)) throw new OutboundFailed('connect_failed', 'another address');
}

function isSameAddress(one: string, other: string): boolean {
  if (!isIPv6(one) || !isIPv6(other)) return one === other;
  return ipv6Groups(one).join(':') === ipv6Groups(other).join(':');
}

async function secured(socket: Socket, destination: Destination, options: GuardedSocketOptions): Promise<Socket> {
  const { host, isAddress } = destination;
  const secure = connectTls({
    ...options.tls,
    socket,
    // What the certificate must be for. RFC 6066 section 3: a server name is no address.
    host,
    ...(isAddress ? {} : { servername: host }),
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
  });
  await opened(secure, 'tls_failed');
  return secure;
}

/** Resolves when the socket can be used, and rejects with an error or the end that comes before that. */
function opened(socket: Socket, reason: 'connect_failed' | 'tls_failed'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(reason === 'tls_failed' ? 'secureConnect' : 'connect', resolve);
    // Stays: what happens later is told by `close`.
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
