/**
 * The gateway role on several cores: processes that listen on one port, watched by this one. One that ends is replaced
 * while the others serve on; what it had counted stays in the metrics.
 */
import cluster, { type Worker } from 'node:cluster';
import { portOf } from '../../platform/listen.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';
import { lastingMetrics, mergeMetrics } from './merge-metrics.js';
import type { FromWorker, Readings, ToWorker, WorkerState } from './messages.js';

/** Before a worker that has ended is replaced; doubles while they go on ending young. */
const SHORTEST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** A worker that lived as long as this was no failed start. */
const GROWN_UP_MS = 60_000;
/** Nobody's scrape waits longer for a worker that is busy: its last numbers stand in. */
const METRICS_TIMEOUT_MS = 1_000;
/** How often each worker is asked how it does: probes read what it said, and wait for nobody. */
const STATE_INTERVAL_MS = 500;
/** A worker that has said nothing for so long hangs. */
const SILENT_MS = 1_500;

interface Member {
  readonly worker: Worker;
  readonly startedMs: number;
  ready: boolean;
  metrics: string;
  /** As it said last, and when that was, by `performance.now()`. */
  state: WorkerState | undefined;
  heardMs: number;
  /** It has been asked how it does, and has not answered yet. */
  isAsked: boolean;
  /** A signal that came while it started. */
  missed: NodeJS.Signals | undefined;
}

/** What a worker was asked. */
interface Question {
  readonly worker: Worker;
  /** Called once; undefined: the worker cannot be asked, or has ended. */
  readonly told: (value: Readings[keyof Readings] | undefined) => void;
}

/** What the workers say of what they stand on. */
export interface PoolState {
  /** How many accept connections, of how many. */
  readonly ready: number;
  readonly count: number;
  /** How many of those do not respond; what they said last stands in. */
  readonly silent: number;
  readonly states: readonly WorkerState[];
}

export class WorkerPool {
  private readonly members = new Map<number, Member>();
  private readonly asked = new Map<number, Question>();
  private askedSoFar = 0;
  private timer: NodeJS.Timeout | undefined;
  /** Counters and histograms of workers that have ended. */
  private departed = '';
  private pauseMs = SHORTEST_PAUSE_MS;
  private stopping = false;
  private environment: Record<string, string> = {};

  constructor(
    private readonly count: number,
    private readonly log: Logger,
    /** Told what workers say of webhooks that are to be delivered. */
    private readonly onWork: (message: string) => void,
  ) {}

  /**
   * Starts the workers and resolves with the address once all of them accept connections.
   * @param args command line of a worker.
   * Rejects when one ends before that; it has said why on its standard error.
   */
  async start(args: readonly string[]): Promise<string> {
    cluster.setupPrimary({ args: [...args] });
    cluster.on('message', (_worker, message: FromWorker) => this.hear(message));
    this.timer = setInterval(() => this.askStates(), STATE_INTERVAL_MS);
    this.timer.unref();
    try {
      // The first one finds the port where any will do.
      const gatewayUrl = await this.startOne();
      this.environment = { TRAILGATE_GATEWAY_PORT: String(portOf(gatewayUrl)) };
      await Promise.all(Array.from({ length: this.count - 1 }, () => this.startOne()));
      return gatewayUrl;
    } catch (error) {
      await this.stop(0);
      throw error;
    }
  }

  /** How the workers do, as they said last; asks nobody. */
  state(): PoolState {
    const ready = [...this.members.values()].filter((member) => member.ready);
    return {
      ready: ready.length,
      count: this.count,
      silent: ready.filter(isSilent).length,
      states: ready.flatMap(({ state }) => state ?? []),
    };
  }

  /** The metrics of all workers and of this process as one text; waits for no worker that hangs. Never rejects. */
  async metricsText(own: string): Promise<string> {
    await Promise.all([...this.members.values()].map((member) => this.refreshMetrics(member)));
    const texts = [...this.members.values()].map(({ metrics }) => metrics);
    return mergeMetrics([own, ...texts, this.departed]);
  }

  /** Passes a signal on, such as SIGHUP; to a worker that starts as soon as it has. */
  signal(name: NodeJS.Signals): void {
    for (const member of this.members.values()) {
      if (member.ready) member.worker.process.kill(name);
      else member.missed = name;
    }
  }

  /** Ends every worker in order; kills what is left after `timeoutMs`. */
  async stop(timeoutMs: number): Promise<void> {
    this.stopping = true;
    clearInterval(this.timer);
    const workers = [...this.members.values()].map(({ worker }) => worker).filter((worker) => !worker.isDead());
    const ended = Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('exit', resolve))));
    for (const worker of workers) worker.process.kill('SIGTERM');
    const timer = setTimeout(() => {
      for (const worker of workers) worker.process.kill('SIGKILL');
    }, timeoutMs);
    await ended;
    clearTimeout(timer);
  }

  /**
   * Resolves with the address when the worker accepts connections, from when on it is
   * replaced; rejects when it ends first.
   */
  private startOne(): Promise<string> {
    if (this.stopping) return Promise.reject(new Error('the program ends'));
    const worker = cluster.fork(this.environment);
    const member: Member = {
      worker,
      startedMs: performance.now(),
      ready: false,
      metrics: '',
      state: undefined,
      heardMs: 0,
      isAsked: false,
      missed: undefined,
    };
    this.members.set(worker.id, member);
    return new Promise((resolve, reject) => {
      const failed = (why: string): void => {
        this.members.delete(worker.id);
        reject(new Error(why));
      };
      const ended = (code: number | null, signal: string | null): void =>
        failed(`a worker process ended at start (${signal ?? `exit code ${code}`})`);
      worker.once('exit', ended);
      // The system has no process or no file for it; or it could not be sent a signal, which it shows by not ending.
      worker.on('error', (error: Error) => {
        if (!member.ready) failed(`a worker process could not be started (${error.message})`);
      });
      worker.on('message', (message: FromWorker) => {
        if (message.type !== 'ready') return;
        member.ready = true;
        member.state = message.state;
        member.heardMs = performance.now();
        if (member.missed !== undefined) worker.process.kill(member.missed);
        worker.off('exit', ended);
        this.replaceAtEnd(member);
        resolve(message.gatewayUrl);
      });
    });
  }

  private replaceAtEnd(member: Member): void {
    member.worker.once('exit', (code: number | null, signal: string | null) => {
      this.members.delete(member.worker.id);
      for (const [id, { worker }] of this.asked) if (worker === member.worker) this.tell(id, undefined);
      this.departed = lastingMetrics(mergeMetrics([this.departed, member.metrics]));
      if (this.stopping) return;
      METRICS.workerRestarts.series().inc();
      this.log.error({ event: 'worker_ended', pid: member.worker.process.pid, code, signal }, 'A worker is replaced');
      if (performance.now() - member.startedMs > GROWN_UP_MS) this.pauseMs = SHORTEST_PAUSE_MS;
      setTimeout(() => void this.replace(), this.pauseMs);
      this.pauseMs = Math.min(LONGEST_PAUSE_MS, this.pauseMs * 2);
    });
  }

  private async replace(): Promise<void> {
    if (this.stopping) return;
    try {
      await this.startOne();
    } catch (error) {
      this.log.error({ event: 'worker_start_failed', err: error }, 'A worker could not be replaced; tried again');
      if (this.stopping) return;
      setTimeout(() => void this.replace(), this.pauseMs);
      this.pauseMs = Math.min(LONGEST_PAUSE_MS, this.pauseMs * 2);
    }
  }

  /** One question at a time for each: a worker that hangs would find them all when it goes on. */
  private askStates(): void {
    for (const member of this.members.values()) {
      if (!member.ready || member.isAsked) continue;
      member.isAsked = true;
      this.ask(member, 'state', (state) => {
        member.isAsked = false;
        if (state === undefined) return;
        member.state = state as WorkerState;
        member.heardMs = performance.now();
      });
    }
  }

  /** What comes too late for this scrape stands in at the next. */
  private refreshMetrics(member: Member): Promise<void> {
    if (!member.ready || isSilent(member)) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, METRICS_TIMEOUT_MS);
      this.ask(member, 'metrics', (text) => {
        clearTimeout(timer);
        if (typeof text === 'string' && text !== '') member.metrics = text;
        resolve();
      });
    });
  }

  private ask({ worker }: Member, what: keyof Readings, told: Question['told']): void {
    const id = ++this.askedSoFar;
    const question: ToWorker = { type: 'ask', id, what };
    this.asked.set(id, { worker, told });
    worker.send(question, (error) => {
      if (error !== null) this.tell(id, undefined);
    });
  }

  private tell(id: number, value: Readings[keyof Readings] | undefined): void {
    const question = this.asked.get(id);
    this.asked.delete(id);
    question?.told(value);
  }

  private hear(message: FromWorker): void {
    if (message.type === 'answer') this.tell(message.id, message.value);
    if (message.type === 'work') this.onWork(message.message);
  }
}

function isSilent({ heardMs }: Member): boolean {
  return performance.now() - heardMs > SILENT_MS;
}
