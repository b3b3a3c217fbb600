/** Broken configurations: certificates and keys. The test creates the files with openssl. */
import { withLines, service, type BrokenConfig } from './broken-config.js';

/**
 * Returns a configuration whose gateway listener has this certificate and key. The folder of the test contains the
 * pairs `a` and `b`, and the files `encrypted.key`, `der.crt` and `empty.pem`.
 */
const listener = (cert: string, key: string) => withLines(`gateway: { tls: { cert: ${cert}, key: ${key} } }`);
const backend = (setting: string) => service(`tls: { ${setting} }`);

export const TLS: readonly BrokenConfig[] = [
  [
    'a certificate that is not there',
    listener('c.crt', 'a.key'),
    '8:25',
    'the certificate c.crt cannot be read: there is no such file',
    'looked for /',
  ],
  [
    'a key that is not there',
    listener('a.crt', 'c.key'),
    '8:37',
    'the private key c.key cannot be read: there is no such file',
    'looked for /',
  ],
  [
    'a folder as a certificate',
    listener('.', 'a.key'),
    '8:25',
    'the certificate . cannot be read: it is a folder',
    'name the file in it',
  ],
  ['a certificate without end', listener('/dev/zero', 'a.key'), '8:25', 'it is a device', 'regular file'],
  [
    'a key as a certificate',
    listener('a.key', 'a.key'),
    '8:25',
    'the certificate cannot be used: it is no certificate',
    'BEGIN CERTIFICATE',
  ],
  [
    'a certificate as a key',
    listener('a.crt', 'a.crt'),
    '8:37',
    'the private key cannot be used: it is no key',
    'BEGIN PRIVATE KEY',
  ],
  [
    'an empty certificate',
    listener('empty.pem', 'a.key'),
    '8:25',
    'the certificate cannot be used: it is no certificate',
    'BEGIN CERTIFICATE',
  ],
  [
    'a certificate in DER',
    listener('der.crt', 'a.key'),
    '8:25',
    'the certificate cannot be used: it is no certificate',
    'openssl x509',
  ],
  ['a key under a passphrase', listener('a.crt', 'encrypted.key'), '8:37', 'protected by a passphrase', 'openssl pkey'],
  ["another certificate's key", listener('a.crt', 'b.key'), '8:37', 'does not belong to the certificate', 'made with'],
  [
    'a certificate without its key',
    withLines('gateway: { tls: { cert: a.crt } }'),
    '8:12',
    '`key` is missing',
    'Private key file',
  ],
  ['no name of a certificate', listener('""', 'a.key'), '8:25', 'must not be empty', 'Certificate file'],
  ["a backend's certificate without its key", backend('cert: a.crt'), '4:5', 'cert and key belong together', ''],
  [
    "a backend's authorities that are not there",
    backend('ca: c.crt'),
    '4:16',
    'the file of authorities c.crt cannot be read',
    'looked for',
  ],
  [
    "a backend's authorities that are none",
    backend('ca: a.key'),
    '4:16',
    'the file of authorities cannot be used: it is no certificate',
    'BEGIN CERTIFICATE',
  ],
  [
    "a backend's key of another certificate",
    backend('cert: a.crt, key: b.key'),
    '4:30',
    'does not belong to the certificate',
    'made with',
  ],
  ["a backend's name that is a URL", backend('serverName: https://shop'), '4:24', 'must be a host name', ''],
];
