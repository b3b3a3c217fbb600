import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../test/support/processes.js';
import type { MergedTargetStatus } from '../proxy/targets/target-status.js';
import { boundedStatus, MAX_TARGETS, type NodeStatus } from './node-status.js';
import { NodeStatuses } from './node-statuses.js';
import { targetsOnNodes } from './node-targets.js';
import { NODE_STATUS_LIFETIME_MS, type NodeStatusStore, type StoredNodeStatus } from './node-status-store.js';

const row = (target: string, state: MergedTargetStatus['state'] = 'healthy'): MergedTargetStatus => ({
  service: 'orders',
  target,
  address: null,
  state,
  inFlight: 1,
  ejectedUntilMs: null,
  lastFailure: null,
  processes: { healthy: 0, failing: 0, ejected: 0, unhealthy: 0, [state]: 1 },
});
const statementOf = (node: string, ...targets: MergedTargetStatus[]): Omit<NodeStatus, 'targetsLeftOut'> => ({
  node,
  version: null,
  processes: 1,
  targets,
  quotaStoreLostSinceMs: null,
});

/** A statement of a version with another format. */
const NO_ROW = JSON.stringify(
  statementOf('gw-9', { ...row('http://a'), processes: 3 } as unknown as MergedTargetStatus),
);

/** A store in memory. Its statuses do not expire. */
class Memory implements NodeStatusStore {
  readonly texts = new Map<string, StoredNodeStatus>();
  isAway = false;
  removals = 0;
  private check(): void {
    if (this.isAway) throw new Error('away');
  }
  async saveStatus(id: string, text: string): Promise<void> {
    this.check();
    this.texts.set(id, { id, text, ageMs: 0 });
  }
  async listStatuses(): Promise<StoredNodeStatus[]> {
    this.check();
    return [...this.texts.values()];
  }
  async removeStatus(id: string): Promise<void> {
    this.removals += 1;
    this.check();
    this.texts.delete(id);
  }
  close(): void {
    // There is nothing to close.
  }
}

describe('a node status', () => {
  let store: Memory;
  let nodes: NodeStatuses[];
  const node = (): NodeStatuses => {
    nodes.push(new NodeStatuses(store));
    return nodes.at(-1)!;
  };
  beforeEach(() => {
    store = new Memory();
    nodes = [];
  });
  afterEach(() => Promise.all(nodes.map((each) => each.stop())));

  it('is received by other nodes with its age', async () => {
    const [gateway, admin] = [node(), node()];
    gateway.publish(() => statementOf('gw-1', row('http://a')));
    admin.publish(() => statementOf('gw-2'));
    admin.startReading();
    await eventually('it is received', () => admin.otherNodes().length === 1);
    expect(admin.otherNodes()).toMatchObject([{ node: 'gw-1', targets: [{ target: 'http://a' }], targetsLeftOut: 0 }]);
    const { ageMs } = admin.otherNodes()[0]!;
    await new Promise((done) => setTimeout(done, 30));
    expect(admin.otherNodes()[0]!.ageMs).toBeGreaterThan(ageMs);
    expect(gateway.otherNodes()).toEqual([]);
  });

  it('stays with growing age while the store is unavailable, and disappears in the end', async () => {
    const [gateway, admin] = [node(), node()];
    gateway.publish(() => statementOf('gw-1'));
    const [written] = [...store.texts.values()] as [StoredNodeStatus];
    store.texts.set(written.id, { ...written, ageMs: NODE_STATUS_LIFETIME_MS - 300 });
    admin.startReading();
    await eventually('it is received', () => admin.otherNodes().length === 1);
    store.isAway = true;
    expect(admin.otherNodes()[0]!.ageMs).toBeGreaterThanOrEqual(NODE_STATUS_LIFETIME_MS - 300);
    await eventually('it is forgotten', () => admin.otherNodes().length === 0);
  });

  it('is removed with its node, and ignored if its format is unknown', async () => {
    const [gateway, admin] = [node(), node()];
    gateway.publish(() => statementOf('gw-1'));
    for (const [id, text] of Object.entries({
      a: 'no JSON',
      b: 'null',
      c: '{"node":7}',
      d: '{"node":"x"}',
      e: NO_ROW,
    })) {
      store.texts.set(id, { id, text, ageMs: 0 });
    }
    admin.startReading();
    await eventually('it is received', () => admin.otherNodes().length === 1);
    await gateway.stop();
    expect([...store.texts.keys()]).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('is not removed from an unavailable store, so that stopping does not wait', async () => {
    store.isAway = true;
    const gateway = node();
    gateway.publish(() => statementOf('gw-1'));
    await gateway.stop();
    expect(store.removals).toBe(0);
  });

  it('has a maximum number of targets, with those out of service first', () => {
    const many = Array.from({ length: MAX_TARGETS + 50 }, (_, index) =>
      row(`http://${index}`, index > MAX_TARGETS ? 'ejected' : 'healthy'),
    );
    const statement = boundedStatus(statementOf('gw-1', ...many));
    expect([statement.targets.length, statement.targetsLeftOut]).toEqual([MAX_TARGETS, 50]);
    expect(statement.targets.filter(({ state }) => state === 'ejected')).toHaveLength(49);
  });

  it('is combined with others: a target has its worst state, and the state on each node', () => {
    const received = (node: string, ageMs: number, ...targets: MergedTargetStatus[]) => ({
      ...statementOf(node, ...targets),
      targetsLeftOut: 0,
      ageMs,
    });
    const together = targetsOnNodes([
      received('gw-2', 0, row('http://a'), row('http://b')),
      received('gw-1', 1_500, row('http://b', 'unhealthy')),
    ]);
    expect(together).toMatchObject([
      { target: 'http://a', state: 'healthy', inFlight: 1, nodes: [{ node: 'gw-2', ageMs: 0 }] },
      {
        target: 'http://b',
        state: 'unhealthy',
        inFlight: 2,
        processes: { healthy: 1, failing: 0, ejected: 0, unhealthy: 1 },
        nodes: [
          { node: 'gw-1', ageMs: 1_500, status: { state: 'unhealthy' } },
          { node: 'gw-2', ageMs: 0, status: { state: 'healthy' } },
        ],
      },
    ]);
  });
});
