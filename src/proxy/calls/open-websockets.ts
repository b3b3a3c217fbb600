/**
 * The WebSockets that are open, of every service: they hold no connection of a pool, and outlive a change of its
 * targets.
 */

/** One of them. */
export interface EndableWebSocket {
  /** Tells its client to connect elsewhere, and ends it. */
  goAway(): void;
}

export class OpenWebSockets<Call extends EndableWebSocket> {
  private readonly open = new Set<Call>();
  private areEnding = false;

  [Symbol.iterator](): Iterator<Call> {
    return this.open.values();
  }

  /** While they end, one that opens now is ended as soon as its client has been told that it is open. */
  add(call: Call): void {
    this.open.add(call);
    if (this.areEnding) setImmediate(() => call.goAway());
  }

  delete(call: Call): void {
    this.open.delete(call);
  }

  /** Ends them all, and whichever opens from now on: none would end by itself. */
  end(): void {
    this.areEnding = true;
    for (const call of this.open) call.goAway();
  }
}
