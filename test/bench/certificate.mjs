/** Creates the TLS certificate of a benchmark's gateways. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { temporaryFolder } from './processes.mjs';

/**
 * Creates a self-signed certificate for 127.0.0.1 with an ECDSA P-256 key, and makes this process trust it.
 * @returns {{ cert: string, key: string }} paths of the PEM files
 */
export function makeCertificate() {
  const files = { cert: path.join(temporaryFolder(), 'bench.crt'), key: path.join(temporaryFolder(), 'bench.key') };
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', files.key];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', '-x509', ...key, '-out', files.cert, '-days', '2', ...subject], { stdio: 'ignore' });
  setDefaultCACertificates([...getCACertificates(), readFileSync(files.cert, 'utf8')]);
  return files;
}
