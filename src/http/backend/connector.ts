/** Opens connections to one server, plain or over TLS, within a deadline (HTTP/1.1 is all that is offered). */
import { connect as connectPlain, isIP, type LookupFunction, type OnReadOpts, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { connectError } from './connect-error.js';
import { connectionError } from '../grammar/errors.js';

/** TCP probes on connections that idle, so that one whose other end vanished is found. */
const KEEP_ALIVE_PROBE_MS = 60_000;
const PLAIN_READ_BYTES = 64 * 1024;
/** A record of TLS has no more. */
const TLS_READ_BYTES = 16 * 1024;

/**
 * What every plain connection of this process reads into: a piece is used or copied before the next one is read. One
 * over TLS has a buffer of its own, because a write can make it read.
 */
const sharedBuffer = Buffer.allocUnsafeSlow(PLAIN_READ_BYTES);

export interface ConnectorOptions {
  /** `https://host:port` or `http://…`. */
  readonly origin: string;
  readonly timeoutMs: number;
  /** Where the name leads to; undefined: the system resolves it. */
  readonly lookup: LookupFunction | undefined;
  /** What connections over TLS are made with from now on; asked anew for each. */
  readonly tls: () => ConnectionOptions;
}

/** Called when the connection can be used, or with why it cannot. */
export type Connected = (error: Error | undefined) => void;

export class Connector {
  private readonly host: string;
  private readonly port: number;
  private readonly isSecure: boolean;
  /** Of the last connection, for a shorter handshake; belongs to `sessionFor`. */
  private session: Buffer | undefined;
  private sessionFor: ConnectionOptions | undefined;

  constructor(private readonly options: ConnectorOptions) {
    const { protocol, hostname, port } = new URL(options.origin);
    this.isSecure = protocol === 'https:';
    this.host = hostname.replace(/^\[|\]$/g, '');
    this.port = port === '' ? (this.isSecure ? 443 : 80) : Number(port);
  }

  /**
   * Begins to connect.
   * @param onRead given what is read; false: no more until `resume`.
   * @param connected called once, never before this has returned.
   * @throws what Node says of options for TLS that it cannot use; `connected` is not called then.
   */
  connect(onRead: (bytes: number, buffer: Buffer) => boolean, connected: Connected): Socket {
    const buffer = this.isSecure ? Buffer.allocUnsafeSlow(TLS_READ_BYTES) : sharedBuffer;
    const onread: OnReadOpts = { buffer, callback: (bytes, bytesBuffer) => onRead(bytes, bytesBuffer as Buffer) };
    const socket = this.open(onread);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_PROBE_MS);
    let isDone = false;
    const done = (error: Error | undefined): void => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      // Should it be the session that the server stumbled over, the next one does without.
      if (error !== undefined) this.session = undefined;
      connected(error === undefined ? undefined : connectError(error));
    };
    const timer = setTimeout(
      () => socket.destroy(connectionError('TRAILGATE_CONNECT_TIMEOUT')),
      this.options.timeoutMs,
    );
    socket.once(this.isSecure ? 'secureConnect' : 'connect', () => done(undefined));
    socket.once('error', done);
    socket.once('close', () => done(connectionError('TRAILGATE_BACKEND_CLOSED')));
    return socket;
  }

  private open(onread: OnReadOpts): Socket {
    const { host, port } = this;
    const { lookup } = this.options;
    const where = { host, port, onread, ...(lookup === undefined ? {} : { lookup }) };
    return this.isSecure ? this.openSecure(where) : connectPlain(where);
  }

  private openSecure(where: object): Socket {
    const options = this.options.tls();
    if (this.sessionFor !== options) {
      this.sessionFor = options;
      this.session = undefined;
    }
    const socket = connectTls({
      // RFC 6066 section 3: a server name is no address.
      ...(isIP(this.host) === 0 ? { servername: this.host } : {}),
      ...(this.session === undefined ? {} : { session: this.session }),
      ALPNProtocols: ['http/1.1'],
      ...options,
      ...where,
    });
    socket.on('session', (session: Buffer) => {
      if (this.sessionFor === options) this.session = session;
    });
    return socket;
  }
}
