/**
 * OpenWebSockets contains the open WebSockets of all services, so that a shutdown can close them. A WebSocket uses no
 * pooled connection and survives a change of targets.
 */

/** A WebSocket that the gateway can close. */
export interface EndableWebSocket {
  /** Closes the WebSocket with code 1001, so that the client reconnects. */
  goAway(): void;
}

export class OpenWebSockets<Call extends EndableWebSocket> {
  private readonly open = new Set<Call>();
  private areEnding = false;

  [Symbol.iterator](): Iterator<Call> {
    return this.open.values();
  }

  /** Adds a WebSocket. After `end`, closes the WebSocket in the next turn of the event loop, after the 101 response. */
  add(call: Call): void {
    this.open.add(call);
    if (this.areEnding) setImmediate(() => call.goAway());
  }

  delete(call: Call): void {
    this.open.delete(call);
  }

  /** Closes all WebSockets, and each WebSocket that is added later. */
  end(): void {
    this.areEnding = true;
    for (const call of this.open) call.goAway();
  }
}
