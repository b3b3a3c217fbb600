/** State of the shutdown. After the shutdown has begun, each response closes its connection. */
export interface Draining {
  hasBegun: boolean;
}
