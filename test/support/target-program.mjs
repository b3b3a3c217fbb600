/**
 * A backend in its own process, so that tests can kill and freeze it. Prints a line for each request as soon as it
 * arrives, except for `/health`. SIGUSR2 switches between valid responses and garbage.
 */
import { writeSync } from 'node:fs';
import { createServer } from 'node:http';

/** Long enough that several requests are in progress at once, also on a fast machine. */
const ANSWER_AFTER_MS = 100;

let garbage = false;
process.on('SIGUSR2', () => (garbage = !garbage));

/** Prints a line synchronously. Retries while the pipe is full. */
function printLine(line) {
  for (;;) {
    try {
      writeSync(1, `${line}\n`);
      return;
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

const server = createServer((request, response) => {
  if (request.url === '/health') {
    response.end('well');
    return;
  }
  printLine(`${request.method} ${request.url}`);
  if (garbage) {
    request.socket.end('\0\x01garbage\r\n\r\n');
    return;
  }
  request.resume();
  request.on('end', () => {
    setTimeout(() => response.writeHead(200, { 'content-length': 2 }).end('ok'), ANSWER_AFTER_MS);
  });
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => printLine('listening'));
