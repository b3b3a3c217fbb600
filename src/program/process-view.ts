/**
 * Status of this process, its workers, and the other gateways. Used for probes and the admin API, and published to
 * other nodes.
 */
import { hostname } from 'node:os';
import type { AdminDependencies, Readiness } from '../admin/request/admin-dependencies.js';
import type { Config } from '../config/model/schema.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { PoolHolder } from './gateway-role.js';
import { portOf } from '../platform/listen.js';
import { VERSION } from '../platform/version.js';
import type { Log } from '../platform/log.js';
import { DatabaseBoard } from '../nodes/database-board.js';
import type { HeardStatement, NodeStatement } from '../nodes/node-statement.js';
import { NodeStatements } from '../nodes/node-statements.js';
import { targetsOnNodes, type NodeTarget } from '../nodes/node-targets.js';
import { RedisBoard } from '../nodes/redis-board.js';
import type { Rooms } from './rooms.js';
import { mergeTargets } from '../proxy/targets/target-status.js';
import { lifeCheck, readiness } from './readiness.js';
import type { WorkerState } from './workers/messages.js';

export class ProcessView {
  private node = hostname();
  private isFollowing = false;

  /** @param isGateway whether this process or its workers forward requests. */
  constructor(
    private readonly rooms: Rooms,
    private readonly pool: PoolHolder,
    private readonly nodes: NodeStatements,
    private readonly isGateway: boolean,
  ) {}

  /** Returns the state of this process without its workers. */
  own(): WorkerState {
    const { forwarder, quotas, clock, log } = this.rooms;
    return {
      targets: forwarder?.listTargets(clock.now()) ?? [],
      quotaStoreLostSinceMs: quotas.limiter.lostSinceMs ?? null,
      logLoss: log.lost ?? null,
    };
  }

  /** Returns the readiness from known state, without I/O. */
  readiness(): Readiness {
    return readiness({
      life: lifeCheck(this.pool.hasStarted, this.rooms.shutdown.hasBegun),
      database: this.rooms.databaseHealth.state,
      own: this.own(),
      workers: this.pool.current?.state(),
      countersName: this.rooms.counterPlace.isOwn ? 'the counting process' : 'Redis',
      forwards: this.isGateway,
      gateways: this.isGateway || !this.isFollowing ? undefined : this.nodes.others(),
    });
  }

  /** Returns the last statements of this gateway and the others. */
  gateways(): HeardStatement[] {
    const own = { ...this.statement(), targetsLeftOut: 0, ageMs: 0 };
    return [...(this.isGateway ? [own] : []), ...this.nodes.others()];
  }

  /** Returns the targets as seen by all gateways. */
  targets(): NodeTarget[] {
    return targetsOnNodes(this.gateways());
  }

  /** Returns the status functions for the admin listener. */
  get shown(): Pick<AdminDependencies, 'readiness' | 'targets' | 'gateways' | 'stores'> {
    const { redisUrl } = this.rooms.config.current.environment;
    return {
      readiness: () => this.readiness(),
      targets: () => this.targets(),
      gateways: () => this.gateways(),
      stores: { database: this.rooms.database.kind, counters: redisUrl === undefined ? 'process' : 'redis' },
    };
  }

  /** Starts publishing the state of this gateway. @param gatewayUrl URL of the public listener. */
  publish(gatewayUrl: string): void {
    this.node = `${hostname()}:${portOf(gatewayUrl)}`;
    this.nodes.publish(() => this.statement());
  }

  /** Starts receiving the statements of other gateways. */
  follow(): void {
    this.isFollowing = true;
    this.nodes.follow();
  }

  private statement(): Omit<NodeStatement, 'targetsLeftOut'> {
    const states = this.pool.current?.state().states ?? [this.own()];
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
 * Opens the exchange of statements between nodes: Redis, or PostgreSQL. Without either, there is only one process.
 */
export function openNodes(
  { environment: { redisUrl, databaseUrl } }: Config,
  { db }: DatabaseHandle,
  log: Log,
): NodeStatements {
  if (redisUrl !== undefined) return new NodeStatements(new RedisBoard(redisUrl, log.logger));
  return new NodeStatements(databaseUrl === undefined ? undefined : new DatabaseBoard(db));
}
