/** Creates self-signed certificates and certificate authorities with openssl. */
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { temporaryFolder } from './processes.js';

export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
  /** Returns the fingerprint in the form of `X509Certificate.fingerprint256`. */
  fingerprint(): string;
}

/** Whether openssl is installed. */
export const hasOpenssl = (() => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/**
 * Creates a self-signed certificate for `localhost` that is valid for two days. Writes `<name>.crt` and `<name>.key`
 * into the folder, and overwrites existing files.
 */
export function makeCertificate(folder: string, name = 'tls'): CertificateFiles {
  const cert = `${folder}/${name}.crt`;
  const key = `${folder}/${name}.key`;
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', ...kind, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  return { cert, key, fingerprint: () => new X509Certificate(readFileSync(cert)).fingerprint256 };
}

let local: { readonly cert: Buffer; readonly key: Buffer } | undefined;

/**
 * Returns a certificate for `localhost` and its key. Creates them once per process. For tests that need no separate
 * certificate.
 */
export function localCertificate(): { readonly cert: Buffer; readonly key: Buffer } {
  if (local === undefined) {
    const { cert, key } = makeCertificate(temporaryFolder('certificate'));
    local = { cert: readFileSync(cert), key: readFileSync(key) };
  }
  return local;
}

export interface Authority extends CertificateFiles {
  /**
   * Writes `<name>.crt` and `<name>.key`, signed by this authority.
   * @param host host name or IP address. By default the certificate is for `localhost` and 127.0.0.1.
   */
  issue(name: string, host?: string): CertificateFiles;
}

/** Creates a certificate authority, whose files are in the folder. */
export function makeAuthority(folder: string, name = 'ca'): Authority {
  const authority = makeCertificate(folder, name);
  return {
    ...authority,
    issue(issued, host = 'localhost') {
      const cert = `${folder}/${issued}.crt`;
      const key = `${folder}/${issued}.key`;
      const named = isIP(host) === 0 ? `DNS:${host}` : `IP:${host}`;
      const alternative = host === 'localhost' ? 'DNS:localhost,IP:127.0.0.1' : named;
      const subject = [
        '-subj',
        `/CN=${issued}`,
        '-addext',
        `subjectAltName=${alternative}`,
        '-addext',
        'basicConstraints=CA:FALSE',
      ];
      const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
      const signed = ['-CA', authority.cert, '-CAkey', authority.key];
      execFileSync('openssl', ['req', '-x509', ...kind, ...subject, ...signed, '-keyout', key, '-out', cert], {
        stdio: 'ignore',
      });
      return { cert, key, fingerprint: () => new X509Certificate(readFileSync(cert)).fingerprint256 };
    },
  };
}
