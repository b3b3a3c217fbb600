/**
 * The listener's certificate: read at start, and read again when its files change. A pair that does not fit together is
 * refused and the one in use stays; connections that stand are not touched.
 */
import { constants, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:https';
import { dirname, resolve } from 'node:path';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { FileWatch } from '../config/file-watch.js';
import type { Config } from '../config/schema.js';
import type { Logger } from '../log.js';
import { METRICS } from '../metrics.js';

/**
 * TLS 1.3 and 1.2. Of 1.2 the suites with forward secrecy and authenticated encryption alone, because HTTP/2 is offered (RFC 9113 section
 * 9.2.2), in our order; nobody negotiates anew on a connection that stands.
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

export class Certificate {
  private readonly certFile: string;
  private readonly keyFile: string;

  /** @param tls `gateway.tls` with paths relative to the configuration file `configPath`. */
  constructor(
    tls: NonNullable<Config['file']['gateway']['tls']>,
    configPath: string,
    private readonly log: Logger,
  ) {
    this.certFile = resolve(dirname(configPath), tls.cert);
    this.keyFile = resolve(dirname(configPath), tls.key);
  }

  /** TLS 1.2 and 1.3 with the files as they are now. Rejects when one cannot be read or they do not fit together. */
  async read(): Promise<SecureContextOptions> {
    const [cert, key] = await Promise.all([readFile(this.certFile), readFile(this.keyFile)]);
    const options: SecureContextOptions = { cert, key, ...TLS_POLICY };
    createSecureContext(options);
    METRICS.certificateExpiry.series().set(Math.floor(Date.parse(new X509Certificate(cert).validTo) / 1_000));
    return options;
  }

  /** Gives the server new files from now on. @returns ends it. */
  follow(server: Server): () => void {
    const files = new FileWatch(() => void this.apply(server));
    files.follow([this.certFile, this.keyFile]);
    return () => files.stop();
  }

  private async apply(server: Server): Promise<void> {
    try {
      server.setSecureContext(await this.read());
      METRICS.certificateReloads.series('applied').inc();
      this.log.info({ event: 'certificate_changed' }, 'New connections get the new certificate');
    } catch (error) {
      METRICS.certificateReloads.series('refused').inc();
      this.log.error(
        { event: 'certificate_refused', err: error },
        'The changed certificate cannot be used; the one in use stays',
      );
    }
  }
}
