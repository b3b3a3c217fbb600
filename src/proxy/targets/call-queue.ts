/**
 * Queue of calls that wait for a connection, first in, first out. The calls form a linked list, so that any call can be
 * removed at little cost.
 */
import type { PendingCall } from './pending-call.js';

export class CallQueue {
  first: PendingCall | undefined;
  length = 0;
  private last: PendingCall | undefined;

  add(call: PendingCall): void {
    call.isWaiting = true;
    call.previousWaiting = this.last;
    call.nextWaiting = undefined;
    if (this.last === undefined) this.first = call;
    else this.last.nextWaiting = call;
    this.last = call;
    this.length++;
  }

  remove(call: PendingCall): void {
    const { previousWaiting, nextWaiting } = call;
    if (previousWaiting === undefined) this.first = nextWaiting;
    else previousWaiting.nextWaiting = nextWaiting;
    if (nextWaiting === undefined) this.last = previousWaiting;
    else nextWaiting.previousWaiting = previousWaiting;
    call.isWaiting = false;
    call.nextWaiting = undefined;
    call.previousWaiting = undefined;
    this.length--;
  }

  /** Returns the number of queued calls of an account. */
  countOf(accountId: string): number {
    let count = 0;
    for (let call = this.first; call !== undefined; call = call.nextWaiting) if (call.accountId === accountId) count++;
    return count;
  }
}
