/** Opens TCP or TLS connections to one server, each within a timeout. TLS connections offer only HTTP/1.1. */
import { connect as connectPlain, isIP, type LookupFunction, type OnReadOpts, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { connectError } from './connect-error.js';
import { connectionError } from '../grammar/errors.js';

/**
 * Idle time before the first TCP keep-alive probe. The probes detect that the peer of an idle connection no longer
 * exists.
 */
const KEEP_ALIVE_PROBE_MS = 60_000;
const PLAIN_READ_BYTES = 64 * 1024;
/** Size of the read buffer of a TLS connection: the maximum size of a TLS record. */
const TLS_READ_BYTES = 16 * 1024;

/**
 * Read buffer that all connections without TLS share. Readers use or copy the data before the next read. Each TLS
 * connection has its own buffer, because a write to a TLS connection can trigger a read.
 */
const sharedBuffer = Buffer.allocUnsafeSlow(PLAIN_READ_BYTES);

export interface ConnectorOptions {
  /** Scheme, host and port of the server, such as `https://host:port` or `http://host:port`. */
  readonly origin: string;
  readonly timeoutMs: number;
  /** Resolves the host name. Undefined to use the system's resolver. */
  readonly lookup: LookupFunction | undefined;
  /** Returns the TLS options. Called for each new connection, so that changes take effect without a restart. */
  readonly tls: () => ConnectionOptions;
}

/** Connected is called when the connection is usable (with undefined), or with the error that prevented it. */
export type Connected = (error: Error | undefined) => void;

export class Connector {
  private readonly host: string;
  private readonly port: number;
  private readonly isSecure: boolean;
  /** TLS session of the last connection, for resumption. Valid only for the options in `sessionFor`. */
  private session: Buffer | undefined;
  private sessionFor: ConnectionOptions | undefined;

  constructor(private readonly options: ConnectorOptions) {
    const { protocol, hostname, port } = new URL(options.origin);
    this.isSecure = protocol === 'https:';
    this.host = hostname.replace(/^\[|\]$/g, '');
    this.port = port === '' ? (this.isSecure ? 443 : 80) : Number(port);
  }

  /**
   * Starts to open a connection.
   * @param onRead receives the bytes read. Returns false to stop reading until `resume`.
   * @param connected called once, never before this method returns.
   * @throws Node's error for unusable TLS options. `connected` is not called then.
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
      // The TLS session may have caused the failure. The next attempt uses none.
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
    const target = { host, port, onread, ...(lookup === undefined ? {} : { lookup }) };
    return this.isSecure ? this.openSecure(target) : connectPlain(target);
  }

  private openSecure(target: object): Socket {
    const options = this.options.tls();
    if (this.sessionFor !== options) {
      this.sessionFor = options;
      this.session = undefined;
    }
    const socket = connectTls({
      // RFC 6066 section 3: an IP address is not a valid server name.
      ...(isIP(this.host) === 0 ? { servername: this.host } : {}),
      ...(this.session === undefined ? {} : { session: this.session }),
      ALPNProtocols: ['http/1.1'],
      ...options,
      ...target,
    });
    socket.on('session', (session: Buffer) => {
      if (this.sessionFor === options) this.session = session;
    });
    return socket;
  }
}
