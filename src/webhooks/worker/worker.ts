/**
 * The worker of webhooks: takes lanes that are due, keeps their leases, looks where it is told to, lets go of what has
 * nothing to do. Truth is in the deliveries; what it is told, and what it remembers, are hints, and a scan finds what
 * they have missed.
 */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { readLaneEndpoints, type LaneEndpoint } from '../deliveries/lane-endpoints.js';
import type { LaneScan } from '../deliveries/lane-scan.js';
import type { Lanes } from '../deliveries/lanes.js';
import type { ToldEndpoints } from '../../outbox/work-signal.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';
import type { Crew } from './crew.js';
import type { Lane, LaneCrew } from './lane.js';
import { LaneSleep } from './lane-sleep.js';
import { LaneTaker } from './lane-taker.js';
import { LanesHeld } from './lanes-held.js';
import { Places } from './places.js';
import { Rounds } from './rounds.js';
import type { WorkerTimes } from './worker-times.js';

/** Lanes that one process has. */
const MOST_LANES = 10_000;
const LANES_A_STATEMENT = 500;

/** What the worker stands on. */
export interface WorkerParts {
  readonly db: Kysely<Tables>;
  readonly lanes: Lanes;
  readonly scan: LaneScan;
  readonly crew: Crew;
  readonly log: Logger;
  readonly times: WorkerTimes;
  /** Whether it is told what other processes write. */
  readonly isTold: () => boolean;
  /** Takes the leases from processes that are dead for certain. */
  readonly endDead: () => Promise<void>;
}

/** WebhookWorker works until it is stopped. */
export class WebhookWorker {
  private readonly places = new Places();
  private readonly held = new LanesHeld(this.places);
  private readonly rounds: Rounds[];
  private readonly taker: LaneTaker;
  private readonly sleeping: LaneSleep;
  private readonly sleeps: Rounds;
  private readonly looks: Rounds;
  private changingHands: Promise<void> = Promise.resolve();
  private readonly refreshes: Rounds;
  /** By `performance.now()`; the leases are good for a while from then on. */
  private renewedMs = -Infinity;
  private allRefreshedMs = performance.now();
  /** Endpoints that were changed, or may have been. */
  private readonly toRefresh = new Set<string>();
  private unownedDueMs: number | undefined;
  private isStopping = false;
  /** A lane was told that nothing may begin: all get a turn when that is over. */
  private isHeldUp = false;
  private hasFailed = false;
  private readonly laneCrew: LaneCrew;

  constructor(private readonly parts: WorkerParts) {
    const onEnd = (error: unknown): void => this.noteEnd(error);
    const every = (ms: number, run: () => Promise<void>): Rounds => new Rounds(run, () => ms, onEnd);
    const { crew, scan, times } = parts;
    const wake = (endpointIds: readonly string[]): void => this.tell(endpointIds);
    this.sleeping = new LaneSleep(this.held, { ...parts, msUntil: (dueAtMs) => crew.msUntil(dueAtMs), wake });
    this.taker = new LaneTaker({
      ...parts,
      room: () => (this.isStopping ? 0 : MOST_LANES - this.held.size),
      idle: () => this.held.idsOf((lane) => lane.mayHaveMissed),
      dueOf: (endpointIds) => scan.dueOf(endpointIds),
      wake,
      add: (endpoints, atMs) => this.add(endpoints, atMs),
      untaken: (endpointIds) => this.sleeping.untaken(endpointIds),
    });
    this.looks = new Rounds(
      () => this.alone(() => this.look()),
      () => this.taker.msUntilAll,
      onEnd,
    );
    this.refreshes = every(times.refreshMs, () => this.refresh());
    this.sleeps = every(times.sleepMs, () =>
      this.alone(() => (this.isStopping ? this.sleeping.leave() : this.sleeping.sleep())),
    );
    this.rounds = [
      this.looks,
      this.refreshes,
      every(times.renewMs, () => this.renew()),
      this.sleeps,
      new Rounds(
        () => this.scan(),
        () => times.scanMs + (2 * Math.random() - 1) * times.scanSpreadMs,
        onEnd,
      ),
    ];
    this.laneCrew = {
      lingerMs: times.lingerMs,
      takePlace: (lane) => this.held.takePlace(lane),
      givePlace: (place) => this.held.givePlace(place),
      mayBegin: () => this.mayBegin(),
      readDue: (endpoint, most, except) => crew.readDue(endpoint, most, except),
      openKeys: (endpointId) => crew.openKeys(endpointId),
      msUntil: (dueAtMs) => crew.msUntil(dueAtMs),
      attempt: (endpoint, keys, delivery) => crew.attempt(endpoint, keys, delivery),
      outcomeOf: (endpoint, delivery, made, url) => crew.outcomeOf(endpoint, delivery, made, url),
      record: (record) => crew.record(record),
      changed: (lane) => this.laneChanged(lane),
      wantsTurn: (lane) => this.held.wantsTurn(lane),
      failed: (lane, error) => this.laneFailed(lane, error),
    };
  }

  /** Begins to work; looks at once. */
  start(): void {
    for (const each of this.rounds) each.start();
    this.looks.now();
  }

  /** Endpoints have something to do; some of them were changed, `all` perhaps. */
  tell(told: ToldEndpoints, changed: readonly string[] = []): void {
    if (this.isStopping) return;
    const isAll = told === 'all';
    for (const id of isAll ? this.held.ids() : told) {
      const lane = this.held.get(id);
      if (lane !== undefined) lane.told();
      else this.taker.tell(id);
    }
    for (const id of isAll ? this.held.ids() : changed) if (this.held.get(id) !== undefined) this.toRefresh.add(id);
    if (isAll) this.taker.tellAll();
    if (isAll || this.taker.hasTold) this.looks.now();
    if (this.toRefresh.size > 0) this.refreshes.now();
  }

  /** Begins nothing more. What is under way goes on; lanes without are left to others at once. */
  rest(): void {
    if (this.isStopping) return;
    this.isStopping = true;
    this.sleeps.now();
  }

  /** Waits for what is under way, at most so long, and lets go of the lanes. Never rejects. */
  async stop(patienceMs: number): Promise<void> {
    this.rest();
    const endMs = performance.now() + patienceMs;
    while (this.places.underWay > 0 && performance.now() < endMs) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    this.parts.crew.stop();
    await Promise.all(this.rounds.map((each) => each.stop()));
    // What is still under way keeps its lease: nobody else is to send it at the same moment.
    await this.sleeping.leave().catch(() => undefined);
    this.held.dropAll();
  }

  get activeAttempts(): number {
    return this.places.underWay;
  }

  /** Since when the endpoint is due that has been for longest and is nobody's; as of the last scan. */
  get unownedDueAtMs(): number | undefined {
    return this.unownedDueMs;
  }

  /** Lanes of this process, for those who show them. */
  get lanes(): Iterable<Lane> {
    return this.held.all();
  }

  /** Not while lanes are taken, or let go of: one would be in hand here, and nobody's in the table. */
  private alone(run: () => Promise<void>): Promise<void> {
    const done = this.changingHands.then(run);
    this.changingHands = done.catch(() => undefined);
    return done;
  }

  private mayBegin(): boolean {
    if (!this.isStopping && !this.parts.crew.isStuck && this.leasesHold) return true;
    this.isHeldUp = true;
    return false;
  }

  private get leasesHold(): boolean {
    return performance.now() - this.renewedMs < this.parts.times.leasePatienceMs;
  }

  private async look(): Promise<void> {
    if (this.isStopping) return;
    if (this.isHeldUp && this.leasesHold && !this.parts.crew.isStuck) {
      this.isHeldUp = false;
      this.held.turnAll();
    }
    await this.taker.take();
    if (this.taker.hasTold) this.looks.now();
  }

  private add(endpoints: readonly LaneEndpoint[], atMs: number): void {
    // Good for as long as what is renewed at that time.
    if (this.held.size === 0) this.renewedMs = atMs;
    for (const endpoint of endpoints) {
      this.sleeping.taken(endpoint.id);
      const own = this.held.get(endpoint.id);
      // Its lease had ended, and it is this process's again, with what is under way.
      if (own === undefined) this.held.add(endpoint, this.laneCrew);
      else own.retake(endpoint);
      this.held.get(endpoint.id)?.told();
    }
  }

  private async renew(): Promise<void> {
    const lanes = [...this.held.all()];
    const startMs = performance.now();
    try {
      const own = await this.parts.lanes.renew(lanes.map(({ endpointId }) => endpointId));
      this.renewedMs = startMs;
      const lost = lanes.filter(({ endpointId }) => !own.has(endpointId));
      // Not one that has been taken anew meanwhile.
      const isGone = (lane: Lane): boolean => this.held.get(lane.endpointId) === lane && lane.takenMs < startMs;
      for (const lane of lost) if (isGone(lane)) this.held.drop(lane.endpointId);
    } finally {
      if (!this.leasesHold && this.held.size > 0) this.lose();
    }
  }

  /** Nothing was renewed for so long that the leases may end: others will begin. */
  private lose(): void {
    const text = 'Leases of webhook endpoints could not be renewed: they are left to other workers';
    this.parts.log.warn({ event: 'webhook_lanes_lost', lanes: this.held.size }, text);
    this.held.dropAll();
  }

  private async scan(): Promise<void> {
    if (this.isStopping) return;
    await this.parts.endDead();
    const found = await this.parts.scan.scan();
    METRICS.webhookLanesFound.series().inc(found.length);
    this.unownedDueMs = await this.parts.lanes.oldestUnowned();
    if (found.length > 0) this.tell(found);
  }

  /** Reads those endpoints anew that were told of; and all, now and then. */
  private async refresh(): Promise<void> {
    const nowMs = performance.now();
    const isForAll = nowMs - this.allRefreshedMs >= this.parts.times.refreshMs;
    const ids = isForAll ? this.held.ids() : [...this.toRefresh];
    this.toRefresh.clear();
    if (isForAll) this.allRefreshedMs = nowMs;
    for (let at = 0; at < ids.length; at += LANES_A_STATEMENT) {
      await this.refreshThese(ids.slice(at, at + LANES_A_STATEMENT));
    }
  }

  private async refreshThese(ids: readonly string[]): Promise<void> {
    const endpoints = new Map((await readLaneEndpoints(this.parts.db, ids)).map((each) => [each.id, each]));
    for (const id of ids) {
      const endpoint = endpoints.get(id);
      if (endpoint === undefined) this.held.drop(id);
      else this.held.get(id)?.use(endpoint);
    }
  }

  private laneChanged({ endpointId }: Lane): void {
    this.toRefresh.add(endpointId);
    this.refreshes.now();
  }

  private laneFailed({ endpointId }: Lane, error: unknown): void {
    if (this.isStopping) return;
    const text = 'A webhook endpoint could not be worked on; tried again';
    this.parts.log.warn({ event: 'webhook_lane_failed', endpoint_id: endpointId, err: error }, text);
  }

  private noteEnd(error: unknown): void {
    if (error === undefined) {
      this.hasFailed = false;
      return;
    }
    if (this.hasFailed || this.isStopping) return;
    this.hasFailed = true;
    const text = 'What there is to deliver could not be looked for; tried again';
    this.parts.log.warn({ event: 'webhook_work_failed', err: error }, text);
  }
}
