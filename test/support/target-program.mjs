// A backend as a process of its own, so that it can be killed and frozen. Writes a line for every request that reaches it,
// at once and before it does anything else. SIGUSR2: answers garbage from now on; again: no longer.
import { writeSync } from 'node:fs';
import { createServer } from 'node:http';

/** So that several requests are under way at once, on a quick machine too. */
const ANSWER_AFTER_MS = 100;

let garbage = false;
process.on('SIGUSR2', () => (garbage = !garbage));

function say(line) {
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
  say(`${request.method} ${request.url}`);
  if (garbage) {
    request.socket.end('\0\x01garbage\r\n\r\n');
    return;
  }
  request.resume();
  request.on('end', () => {
    setTimeout(() => response.writeHead(200, { 'content-length': 2 }).end('ok'), ANSWER_AFTER_MS);
  });
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => say('listening'));
