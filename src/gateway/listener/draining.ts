/** Draining is the state of the shutdown. After `hasBegun` is set, each response closes its connection. */
export interface Draining {
  hasBegun: boolean;
}
