/** Self-signed certificates for `localhost`, made by openssl when a test asks for one. */
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

/** Whether this machine can make certificates. */
export const hasOpenssl = (() => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/** Writes `<name>.crt` and `<name>.key` into the folder; what stood there is overwritten. */
export function makeCertificate(folder: string, name = 'tls'): CertificateFiles {
  const cert = `${folder}/${name}.crt`;
  const key = `${folder}/${name}.key`;
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', ...kind, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  return { cert, key, fingerprint: () => new X509Certificate(readFileSync(cert)).fingerprint256 };
}

let local: { readonly cert: Buffer; readonly key: Buffer } | undefined;

/** A certificate for `localhost` and its key, for tests that need none of their own: the same in all of this process. */
export function localCertificate(): { readonly cert: Buffer; readonly key: Buffer } {
  if (local === undefined) {
    const { cert, key } = makeCertificate(temporaryFolder('certificate'));
    local = { cert: readFileSync(cert), key: readFileSync(key) };
  }
  return local;
}

export interface Authority extends CertificateFiles {
  /** Writes `<name>.crt` and `<name>.key`, signed by this authority, for `localhost` and 127.0.0.1 or the name or address that is given. */
  issue(name: string, host?: string): CertificateFiles;
}

/** An authority of its own in the folder. */
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
