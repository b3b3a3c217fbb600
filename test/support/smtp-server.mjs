/**
 * Mail server in its own process. Its only argument is a JSON object with the options of `SmtpOptions` (`smtp.ts`). It
 * prints lines of JSON: first its port, then each mail that it receives.
 */
import { readFileSync } from 'node:fs';
import { SMTPServer } from 'smtp-server';

const {
  cert,
  key,
  secure = false,
  plain = false,
  auth = null,
  refuse = null,
  silent = false,
  unconfirmed = false,
} = JSON.parse(process.argv[2] ?? '{}');
const printLine = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const refusal = (words, responseCode) => Object.assign(new Error(words), { responseCode });

const server = new SMTPServer({
  secure,
  ...(cert === undefined ? {} : { cert: readFileSync(cert), key: readFileSync(key) }),
  disabledCommands: [...(plain ? ['STARTTLS'] : []), ...(auth === null ? ['AUTH'] : [])],
  authOptional: auth === null,
  onConnect(_session, done) {
    // Without `done`, the server accepts the connection but never greets.
    if (!silent) done();
  },
  onAuth({ username, password }, _session, done) {
    if (username === auth.user && password === auth.password) done(null, { user: username });
    else done(refusal('Authentication failed', 535));
  },
  onRcptTo({ address }, _session, done) {
    if (refuse === null) done();
    else done(refusal(`${address} is unknown here`, refuse));
  },
  onData(stream, { envelope, secure: isSecure, user }, done) {
    const chunks = [];
    stream.on('data', (chunk) => chunks.push(chunk));
    stream.on('end', () => {
      const to = envelope.rcptTo.map(({ address }) => address);
      printLine({
        from: envelope.mailFrom.address,
        to,
        isSecure,
        user: user ?? null,
        source: Buffer.concat(chunks).toString(),
      });
      if (!unconfirmed) done();
    });
  },
});
server.on('error', (error) => process.stderr.write(`${error.message}\n`));
server.listen(0, '127.0.0.1', () => printLine({ port: server.server.address().port }));
process.on('SIGTERM', () => process.exit(0));
