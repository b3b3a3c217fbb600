/** Combines the target states that several nodes report into one row per address, for the admin API and the panel. */
import { addressKey, mergeRows, type MergedTargetStatus } from '../proxy/targets/target-status.js';
import type { KnownNodeStatus } from './node-status.js';

/** TargetOnNode is the state of a target as one node reports it. */
export interface TargetOnNode {
  readonly node: string;
  readonly ageMs: number;
  readonly status: MergedTargetStatus;
}

/** NodeTarget combines the states of a target on several nodes. `state` is the worst state that any node reports. */
export interface NodeTarget extends MergedTargetStatus {
  readonly nodes: readonly TargetOnNode[];
}

/** Returns one row per address, in the order in which the addresses first appear in the reports. */
export function targetsOnNodes(statements: readonly KnownNodeStatus[]): NodeTarget[] {
  const byAddress = new Map<string, TargetOnNode[]>();
  for (const { node, ageMs, targets } of statements) {
    for (const status of targets) {
      const onNodes = byAddress.get(addressKey(status));
      if (onNodes === undefined) byAddress.set(addressKey(status), [{ node, ageMs, status }]);
      else onNodes.push({ node, ageMs, status });
    }
  }
  const byName = (a: TargetOnNode, b: TargetOnNode): number => (a.node < b.node ? -1 : 1);
  return mergeRows(statements.map(({ targets }) => targets)).map((row) => ({
    ...row,
    nodes: (byAddress.get(addressKey(row)) ?? []).toSorted(byName),
  }));
}
