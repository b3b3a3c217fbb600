/** Where a node stands among those that hand out the same limits. */

/** NodePlace is this node among those that hand out the same limits. */
export interface NodePlace {
  readonly count: number;
  /** From 0: the first ones get what does not divide. */
  readonly rank: number;
}
