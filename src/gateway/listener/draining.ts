/** Whether the gateway is about to end: from then on each answer closes its connection. */
export interface Draining {
  hasBegun: boolean;
}
