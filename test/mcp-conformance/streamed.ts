/** A response that is a stream of events, and requests that a server makes of its client on it (2025-11-25, Streamable HTTP). */
import { fieldsOfLines } from '../../src/http/grammar/fields.js';
import type { MethodCall } from '../../src/mcp/method-call.js';
import { serverInfo } from '../../src/mcp/methods/server-words.js';
import type { JsonObject } from '../../src/mcp/protocol/message.js';
import { resultText, type ResultType } from '../../src/mcp/protocol/response-text.js';

const HEAD = 'Content-Type: text/event-stream\r\nCache-Control: no-store, no-transform\r\nX-Accel-Buffering: no\r\n';
const REPLY_TIMEOUT_MS = 10_000;

/** StreamedCall responds by and by. */
export class StreamedCall {
  constructor(private readonly call: MethodCall) {
    const { request } = call;
    request.nodeResponse.writeHead(200, fieldsOfLines(HEAD + request.dateLine + request.responseLines));
    request.nodeResponse.flushHeaders();
  }

  say(message: object): void {
    this.write(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  notify(method: string, params: object): void {
    this.say({ method, params });
  }

  end(members: string, resultType?: ResultType): void {
    const { era, message } = this.call;
    this.write(resultText(era, message.id, members, serverInfo(this.call), false, resultType));
    this.call.request.nodeResponse.end();
  }

  private write(json: string): void {
    this.call.request.nodeResponse.write(`event: message\ndata: ${json}\n\n`);
  }
}

/** ClientRequests are those that wait for what a client says to them. */
export class ClientRequests {
  private readonly waiting = new Map<string, (reply: JsonObject) => void>();
  private last = 0;

  /** Asks the client on a stream. Rejects where it says nothing. */
  ask(stream: StreamedCall, method: string, params: object): Promise<JsonObject> {
    const id = `asked-${++this.last}`;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        reject(new Error(`the client says nothing to ${method}`));
      }, REPLY_TIMEOUT_MS);
      this.waiting.set(id, ({ result }) => {
        clearTimeout(timer);
        resolve((result ?? {}) as JsonObject);
      });
      stream.say({ id, method, params });
    });
  }

  /** Takes a reply. @returns whether it was waited for. */
  take(reply: JsonObject): boolean {
    const id = String(reply['id']);
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    waiting?.(reply);
    return waiting !== undefined;
  }
}
