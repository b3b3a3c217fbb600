/**
 * Loads the certificate of a listener, and reloads it when its files change. If the new files are invalid, the listener
 * keeps the current certificate. Open connections are not affected.
 */
import { constants, X509Certificate } from 'node:crypto';
import type { Server } from 'node:https';
import { dirname, resolve } from 'node:path';
import type { SecureContextOptions } from 'node:tls';
import { FileWatch } from './file-watch.js';
import { namesOf, readTlsFiles, tlsRefusal, type TlsContents, type TlsPaths } from './tls-files.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';

/**
 * Options for TLS 1.2 and 1.3. For TLS 1.2, only cipher suites with forward secrecy and AEAD are allowed, as HTTP/2
 * requires (RFC 9113 section 9.2.2). The server chooses the suite. Renegotiation is disabled.
 */
const TLS_POLICY: SecureContextOptions = {
  minVersion: 'TLSv1.2',
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-RSA-CHACHA20-POLY1305',
  ].join(':'),
  honorCipherOrder: true,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
};

/** TlsListener is a listener that supports TLS. */
export type TlsListener = 'gateway' | 'admin' | 'oauth';

/** ListenerCertificate loads the certificate and key of one listener, and applies changes of these files. */
export class ListenerCertificate {
  private readonly paths: TlsPaths;
  /** Contents of the files that the listener uses. Undefined before the first `read`. */
  private active: { readonly cert: Buffer; readonly key: Buffer } | undefined;

  /** @param tls `tls` of `gateway`, `admin` or `mcp.oauth`, with paths relative to the file `configPath` */
  constructor(
    private readonly listener: TlsListener,
    tls: { readonly cert: string; readonly key: string },
    configPath: string,
    private readonly log: Logger,
  ) {
    const folder = dirname(configPath);
    this.paths = { cert: resolve(folder, tls.cert), key: resolve(folder, tls.key) };
  }

  /**
   * Loads the files and returns the TLS options of the server. Also sets the metric of the expiration date. Rejects
   * with an error that names the unusable file and the reason.
   */
  async read(): Promise<SecureContextOptions> {
    const { cert, key } = await readTlsFiles(this.paths);
    if (cert === undefined || key === undefined) throw new Error('a listener needs a certificate and a key');
    this.active = { cert, key };
    METRICS.certificateExpiry
      .series(this.listener)
      .set(Math.floor(Date.parse(new X509Certificate(cert).validTo) / 1_000));
    return { cert, key, ...TLS_POLICY };
  }

  /**
   * Watches the files and applies their changes to the server. An unusable change is logged, and does not affect the
   * server.
   * @returns a function that stops the watch
   */
  watchServer(server: Server): () => void {
    const files = new FileWatch(() => void this.apply(server));
    // The watch does not detect changes between `read` and this call, so compare the contents once.
    void files.watchFiles(namesOf(this.paths)).then(() => this.applyIfChanged(server));
    return () => files.stop();
  }

  private async applyIfChanged(server: Server): Promise<void> {
    const { cert, key } = await readTlsFiles(this.paths).catch(() => ({}) as TlsContents);
    const isChanged =
      cert?.equals(this.active?.cert ?? cert) === false || key?.equals(this.active?.key ?? key) === false;
    if (isChanged) await this.apply(server);
  }

  private async apply(server: Server): Promise<void> {
    try {
      server.setSecureContext(await this.read());
      METRICS.certificateReloads.series(this.listener, 'applied').inc();
      this.log.info(
        { event: 'certificate_changed', listener: this.listener },
        'New connections get the new certificate',
      );
    } catch (error) {
      METRICS.certificateReloads.series(this.listener, 'refused').inc();
      this.log.error(
        { event: 'certificate_refused', listener: this.listener, ...tlsRefusal(error, this.paths) },
        'The changed certificate cannot be used; the one in use stays',
      );
    }
  }
}
