/**
 * Collects the status of this process, its workers, and the other gateways. Health probes and the admin API read the
 * status. Other nodes receive it as status reports.
 */
import { hostname } from 'node:os';
import type { AdminDependencies, Readiness } from '../admin/request/admin-dependencies.js';
import type { Config } from '../config/model/schema.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { PoolHolder } from './gateway-role.js';
import { portOf } from '../platform/listen.js';
import { VERSION } from '../platform/version.js';
import type { Log } from '../platform/log.js';
import { DatabaseNodeStatusStore } from '../nodes/database-node-status-store.js';
import type { KnownNodeStatus, NodeStatus } from '../nodes/node-status.js';
import { NodeStatuses } from '../nodes/node-statuses.js';
import { targetsOnNodes, type NodeTarget } from '../nodes/node-targets.js';
import { RedisNodeStatusStore } from '../nodes/redis-node-status-store.js';
import type { Modules } from './modules.js';
import { mergeTargets } from '../proxy/targets/target-status.js';
import { lifeCheck, readiness } from './readiness.js';
import type { WorkerState } from './workers/messages.js';

/** ProcessView provides the status of this process in the forms that its readers need. */
export class ProcessView {
  private node = hostname();
  private isFollowing = false;

  /** @param isGateway whether this process or its workers forward requests */
  constructor(
    private readonly modules: Modules,
    private readonly pool: PoolHolder,
    private readonly nodes: NodeStatuses,
    private readonly isGateway: boolean,
  ) {}

  /** Returns the state of this process. The states of its workers are not included. */
  ownStatus(): WorkerState {
    const { forwarder, quotas, clock, log } = this.modules;
    return {
      targets: forwarder?.listTargets(clock.now()) ?? [],
      quotaStoreLostSinceMs: quotas.limiter.lostSinceMs ?? null,
      logLoss: log.lost ?? null,
    };
  }

  /** Returns the readiness. Uses only known state and does no I/O. */
  readiness(): Readiness {
    return readiness({
      life: lifeCheck(this.pool.hasStarted, this.modules.shutdown.hasBegun),
      database: this.modules.databaseHealth.state,
      own: this.ownStatus(),
      workers: this.pool.current?.state(),
      countersName: this.modules.counterLocation.isCountingProcess ? 'the counting process' : 'Redis',
      forwards: this.isGateway,
      gateways: this.isGateway || !this.isFollowing ? undefined : this.nodes.otherNodes(),
    });
  }

  /** Returns the latest status reports of the other gateways, and of this process if it is a gateway. */
  gateways(): KnownNodeStatus[] {
    const own = { ...this.statement(), targetsLeftOut: 0, ageMs: 0 };
    return [...(this.isGateway ? [own] : []), ...this.nodes.otherNodes()];
  }

  /** Returns each target with its state on every gateway. */
  targets(): NodeTarget[] {
    return targetsOnNodes(this.gateways());
  }

  /** Returns the status functions that the admin listener uses. */
  get shown(): Pick<AdminDependencies, 'readiness' | 'targets' | 'gateways' | 'stores'> {
    const { redisUrl } = this.modules.config.current.environment;
    return {
      readiness: () => this.readiness(),
      targets: () => this.targets(),
      gateways: () => this.gateways(),
      stores: { database: this.modules.database.kind, counters: redisUrl === undefined ? 'process' : 'redis' },
    };
  }

  /**
   * Starts publishing the state of this gateway.
   * @param gatewayUrl URL of the public listener
   */
  publish(gatewayUrl: string): void {
    this.node = `${hostname()}:${portOf(gatewayUrl)}`;
    this.nodes.publish(() => this.statement());
  }

  /** Starts receiving the status reports of other gateways. */
  startReadingOthers(): void {
    this.isFollowing = true;
    this.nodes.startReading();
  }

  private statement(): Omit<NodeStatus, 'targetsLeftOut'> {
    const states = this.pool.current?.state().states ?? [this.ownStatus()];
    const lost = states.flatMap(({ quotaStoreLostSinceMs }) => quotaStoreLostSinceMs ?? []);
    return {
      node: this.node,
      version: VERSION,
      processes: states.length,
      targets: mergeTargets(states.map(({ targets }) => targets)),
      quotaStoreLostSinceMs: lost.length === 0 ? null : Math.min(...lost),
    };
  }
}

/**
 * Opens the exchange of status reports between nodes, through Redis or PostgreSQL. Without Redis and PostgreSQL, this
 * process knows no other nodes.
 */
export function openNodes(
  { environment: { redisUrl, databaseUrl } }: Config,
  { db }: DatabaseHandle,
  log: Log,
): NodeStatuses {
  if (redisUrl !== undefined) return new NodeStatuses(new RedisNodeStatusStore(redisUrl, log.logger));
  return new NodeStatuses(databaseUrl === undefined ? undefined : new DatabaseNodeStatusStore(db));
}
