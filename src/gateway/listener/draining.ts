/** Whether the gateway is about to end: from then on each response closes its connection. */
export interface Draining {
  hasBegun: boolean;
}
