/** What the authorization server does with requests before the library sees them. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { OAuthDoor } from '../../test/support/oauth-door.js';
import { eventually } from '../../test/support/processes.js';

let door: OAuthDoor;
beforeAll(async () => {
  door = await OAuthDoor.start();
});
afterAll(() => door?.stop());

it('a registration that is broken off is no fault of ours', async () => {
  const { hostname, port } = new URL(door.issuer);
  const arrived = once(door.server, 'request');
  const socket = connect(Number(port), hostname);
  socket.write('POST /register HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
  const [message] = await arrived;
  socket.destroy();
  await eventually('it is over', () => message.closed);
  // Behind it, so that whatever it led to has been said.
  expect((await door.register()).status).toBe(201);
  expect(door.logged).toEqual([]);
});
