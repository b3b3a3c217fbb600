/** A node's position among the nodes that share the same limits. */

/** NodePlace is the number of nodes that share the same limits, and this node's position among them. */
export interface NodePlace {
  readonly count: number;
  /** From 0: the first ones get what does not divide. */
  readonly rank: number;
}
