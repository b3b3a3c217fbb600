/** Combines the target states of several nodes into one row per address. */
import { addressKey, mergeRows, type MergedTargetStatus } from '../proxy/targets/target-status.js';
import type { HeardStatement } from './node-statement.js';

/** TargetOnNode is the state of a target on one node. */
export interface TargetOnNode {
  readonly node: string;
  readonly ageMs: number;
  readonly status: MergedTargetStatus;
}

/** NodeTarget is the combined state of a target, which is the worst of all nodes. */
export interface NodeTarget extends MergedTargetStatus {
  readonly nodes: readonly TargetOnNode[];
}

/** Returns one row per address, in the order of the first node. */
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
