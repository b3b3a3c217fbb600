/**
 * How this process, with its workers and the gateways that it has heard of, is: for probes,
 * for operators, and for others to hear.
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

  /** @param isGateway whether this process or its workers have backends. */
  constructor(
    private readonly rooms: Rooms,
    private readonly pool: PoolHolder,
    private readonly nodes: NodeStatements,
    private readonly isGateway: boolean,
  ) {}

  /** How this process alone sees what it stands on. */
  own(): WorkerState {
    const { forwarder, quotas, clock, log } = this.rooms;
    return {
      targets: forwarder?.targets(clock.now()) ?? [],
      quotaStoreLostSinceMs: quotas.limiter.lostSinceMs ?? null,
      logLoss: log.lost ?? null,
    };
  }

  /** What is known now, and asks nobody. */
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

  /** This gateway and the others, as they have said last. */
  gateways(): HeardStatement[] {
    const own = { ...this.statement(), targetsLeftOut: 0, ageMs: 0 };
    return [...(this.isGateway ? [own] : []), ...this.nodes.others()];
  }

  /** The targets as this gateway and the others see them. */
  targets(): NodeTarget[] {
    return targetsOnNodes(this.gateways());
  }

  /** What the admin listener shows of it. */
  get shown(): Pick<AdminDependencies, 'readiness' | 'targets' | 'gateways' | 'stores'> {
    const { redisUrl } = this.rooms.config.current.environment;
    return {
      readiness: () => this.readiness(),
      targets: () => this.targets(),
      gateways: () => this.gateways(),
      stores: { database: this.rooms.database.kind, counters: redisUrl === undefined ? 'process' : 'redis' },
    };
  }

  /** Tells others what this gateway sees, from now on. @param gatewayUrl where it listens. */
  publish(gatewayUrl: string): void {
    this.node = `${hostname()}:${portOf(gatewayUrl)}`;
    this.nodes.publish(() => this.statement());
  }

  /** Hears what other gateways see, from now on. */
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
 * Where gateways and the admin API hear of each other: Redis, or else PostgreSQL. With neither there is one process.
 */
export function openNodes(
  { environment: { redisUrl, databaseUrl } }: Config,
  { db }: DatabaseHandle,
  log: Log,
): NodeStatements {
  if (redisUrl !== undefined) return new NodeStatements(new RedisBoard(redisUrl, log.logger));
  return new NodeStatements(databaseUrl === undefined ? undefined : new DatabaseBoard(db));
}
