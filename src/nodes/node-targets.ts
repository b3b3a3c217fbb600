/** The targets as several nodes see them: one row an address, with what each node says of it. */
import { addressKey, mergeRows, type MergedTargetStatus } from '../proxy/targets/target-status.js';
import type { HeardStatement } from './node-statement.js';

/** TargetOnNode is what one node says of a target. */
export interface TargetOnNode {
  readonly node: string;
  /** How old that is, ms. */
  readonly ageMs: number;
  readonly status: MergedTargetStatus;
}

/** NodeTarget is a target as all nodes see it together: at its worst. */
export interface NodeTarget extends MergedTargetStatus {
  readonly nodes: readonly TargetOnNode[];
}

/** One row an address, in the order of the first node. */
export function targetsOnNodes(statements: readonly HeardStatement[]): NodeTarget[] {
  const views = new Map<string, TargetOnNode[]>();
  for (const { node, ageMs, targets } of statements) {
    for (const status of targets) {
      const seen = views.get(addressKey(status));
      if (seen === undefined) views.set(addressKey(status), [{ node, ageMs, status }]);
      else seen.push({ node, ageMs, status });
    }
  }
  const byName = (a: TargetOnNode, b: TargetOnNode): number => (a.node < b.node ? -1 : 1);
  return mergeRows(statements.map(({ targets }) => targets)).map((row) => ({
    ...row,
    nodes: (views.get(addressKey(row)) ?? []).toSorted(byName),
  }));
}
