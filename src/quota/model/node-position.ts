/**
 * Defines a node's position among the nodes that share the same limits. Each node computes its share from this position
 * while the store is lost.
 */

/** NodePosition is the number of nodes that share the same limits, and this node's position among them. */
export interface NodePosition {
  readonly count: number;
  /** Position from 0. If a limit cannot be divided evenly, the first nodes get one request more. */
  readonly rank: number;
}
