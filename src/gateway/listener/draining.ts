/** Shutdown state. Once it has begun, each response closes its connection. */
export interface Draining {
  hasBegun: boolean;
}
