/** A response through Node to a client that reads more slowly than the backend writes. */
import { beforeEach, expect, it } from '@jest/globals';
import { EventEmitter } from 'node:events';
import type { ForwardRequest } from '../targets/forward-request.js';
import { StreamedResponse } from './streamed-response.js';

/** A Node response that accepts nothing until `drain`. */
class FullResponse extends EventEmitter {
  pieces = 0;

  writeHead(): void {}

  write(): boolean {
    this.pieces++;
    return false;
  }
}

let nodes: FullResponse;
let drains: number;
let onDrain: () => void;
let streamed: StreamedResponse;

beforeEach(() => {
  nodes = new FullResponse();
  drains = 0;
  onDrain = () => undefined;
  const request = { client: { response: { takesWhole: false, nodeResponse: nodes } } } as unknown as ForwardRequest;
  streamed = new StreamedResponse(request, { status: 200, lines: '', isSized: false }, () => {
    drains++;
    onDrain();
  });
});

it('listens once for drain, however many pieces are written meanwhile', () => {
  for (let written = 0; written < 20; written++) expect(streamed.write(Buffer.from('x'))).toBe(false);
  expect([nodes.pieces, nodes.listenerCount('drain')]).toEqual([20, 1]);
  nodes.emit('drain');
  expect([drains, nodes.listenerCount('drain')]).toEqual([1, 0]);
});

it('listens for drain again if a write in the drain callback is refused too', () => {
  onDrain = () => void streamed.write(Buffer.from('y'));
  streamed.write(Buffer.from('x'));
  nodes.emit('drain');
  expect([nodes.pieces, nodes.listenerCount('drain')]).toEqual([2, 1]);
  nodes.emit('drain');
  expect([drains, nodes.listenerCount('drain')]).toEqual([2, 1]);
});
