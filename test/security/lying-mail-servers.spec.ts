/** A mail server that misbehaves or hangs is given up in time, and its connection is closed. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { SmtpMailer } from '../../src/mail/mailer.js';
import { eventually } from '../support/processes.js';

const MESSAGE = { to: { name: '', address: 'ana@example.com' }, subject: 'Hello', text: 'Hello', locale: 'en' };
const SEND_TIMEOUT_MS = 1_500;

/** Responds to a line of the client. It may continue to send. */
type Talk = (line: string, socket: Socket) => void;

const usual: Talk = (line, socket) => {
  if (/^(EHLO|HELO)/.test(line)) socket.write('250 ok\r\n');
  else if (line === 'DATA') socket.write('354 go on\r\n');
  else if (/^(MAIL|RCPT|QUIT|\.$)/.test(line)) socket.write('250 ok\r\n');
};

/** Writes a piece repeatedly until the connection is closed. */
function pour(socket: Socket, piece: string, everyMs: number): void {
  const timer = setInterval(() => socket.write(piece), everyMs);
  socket.on('close', () => clearInterval(timer));
}

describe('a mail server', () => {
  const sockets = new Set<Socket>();
  let close = (): void => undefined;
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    close();
  });

  async function start(talk: Talk, greeting = '220 hello\r\n'): Promise<SmtpMailer> {
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
      if (greeting !== '') socket.write(greeting);
      let rest = '';
      socket.on('data', (bytes) => {
        const lines = (rest + String(bytes)).split('\r\n');
        rest = lines.pop() ?? '';
        for (const line of lines) talk(line, socket);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    close = () => void server.close();
    const { port } = server.address() as AddressInfo;
    const from = { name: 'Trailgate', address: 'no-reply@example.com' };
    return new SmtpMailer({ url: `smtp://127.0.0.1:${port}`, from, requireTls: true }, SEND_TIMEOUT_MS);
  }

  it('that behaves correctly gets the mail, and the connection is closed', async () => {
    await (await start(usual)).send(MESSAGE);
    await eventually('the connection is closed', () => sockets.size === 0);
  });

  it.each<[string, Talk]>([
    ['trickles lines of a response that does not end', (_line, socket) => pour(socket, '250-and\r\n', 50)],
    [
      'says everything is well, and never whether it has the mail',
      (line, socket) => line !== '.' && usual(line, socket),
    ],
    ['says nothing more', () => undefined],
  ])('that %s is given up at the timeout, and its connection is closed', async (_what, talk) => {
    const mailer = await start(talk);
    const begunMs = performance.now();
    await expect(mailer.send(MESSAGE)).rejects.toMatchObject({ code: 'ETIMEDOUT', isFinal: false });
    expect(performance.now() - begunMs).toBeGreaterThan(SEND_TIMEOUT_MS - 100);
    await eventually('the connection is closed', () => sockets.size === 0);
  });

  it('that sends an endless line is given up, and its connection is closed', async () => {
    const mailer = await start((_line, socket) => pour(socket, 'x'.repeat(65_536), 1));
    await expect(mailer.send(MESSAGE)).rejects.toMatchObject({ isFinal: false });
    await eventually('the connection is closed', () => sockets.size === 0);
  });

  it.each([
    ['greets with a refusal', '554 no\r\n', 'EPROTOCOL 554'],
    ['greets in another language', 'HTTP/1.1 400 Bad Request\r\n\r\n', 'EPROTOCOL'],
  ])('that %s causes a retry later', async (_what, greeting, code) => {
    const mailer = await start(() => undefined, greeting);
    await expect(mailer.send(MESSAGE)).rejects.toMatchObject({ code, isFinal: false });
    await eventually('the connection is closed', () => sockets.size === 0);
  });

  it('that permanently rejects a message after its content causes no retry', async () => {
    const mailer = await start((line, socket) =>
      line === '.' ? void socket.write('554 no such thing here\r\n') : usual(line, socket),
    );
    await expect(mailer.send(MESSAGE)).rejects.toMatchObject({ code: 'EMESSAGE 554', isFinal: true });
  });
});
