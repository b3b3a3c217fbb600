/**
 * Runs the gateway role in several worker processes that share a port. Replaces workers that end, and keeps the
 * counters of ended workers in the metrics.
 */
import cluster, { type Worker } from 'node:cluster';
import { portOf } from '../../platform/listen.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';
import type { Family } from '../../platform/metrics/family.js';
import { lastingMetrics, mergeMetrics } from './merge-metrics.js';
import type { FromWorker, Readings, ToWorker, WorkerState } from './messages.js';

/** Limits of the pause before a replacement. The pause doubles while workers end early. */
const SHORTEST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/**
 * Lifetime after which the end of a worker is no longer considered early. The pause then starts again at its minimum.
 */
const GROWN_UP_MS = 60_000;
/** Maximum wait for the metrics of a worker. After that, the pool uses the last metrics of this worker. */
const METRICS_TIMEOUT_MS = 1_000;
/** Interval at which the pool requests the state of each worker. Health probes use the last response. */
const STATE_INTERVAL_MS = 500;
/** Time without a response after which a worker counts as hanging. */
const SILENT_MS = 1_500;

interface Member {
  readonly worker: Worker;
  readonly startedMs: number;
  ready: boolean;
  metrics: readonly Family[];
  /** Last state of the worker. `heardMs` is the time of its arrival by `performance.now()`. */
  state: WorkerState | undefined;
  heardMs: number;
  /** Whether a request for the state has no response yet. */
  isAsked: boolean;
  /** Signal to send when the worker is ready. Undefined if no signal has arrived. */
  missed: NodeJS.Signals | undefined;
}

/** Question is a request to a worker that has no response yet. */
interface Question {
  readonly worker: Worker;
  /** Called once with the response. The response is undefined if the worker cannot be reached or has ended. */
  readonly onAnswer: (value: Readings[keyof Readings] | undefined) => void;
}

/** PoolState contains the states of the workers. */
export interface PoolState {
  /** Number of workers that accept connections, out of `count`. */
  readonly ready: number;
  readonly count: number;
  /** Number of ready workers that do not respond. `states` contains their last states. */
  readonly silent: number;
  readonly states: readonly WorkerState[];
}

export class WorkerPool {
  private readonly members = new Map<number, Member>();
  private readonly asked = new Map<number, Question>();
  private askedSoFar = 0;
  private timer: NodeJS.Timeout | undefined;
  /** Counters and histograms of workers that have ended. */
  private departed: readonly Family[] = [];
  /** Resolves when `departed` contains the counters of all workers that have ended so far. */
  private departing = Promise.resolve();
  private pauseMs = SHORTEST_PAUSE_MS;
  private stopping = false;
  private environment: Record<string, string> = {};

  constructor(
    private readonly count: number,
    private readonly log: Logger,
    /** Receives the messages of workers about due webhook deliveries. */
    private readonly onWork: (message: string) => void,
  ) {}

  /**
   * Starts the workers. Rejects if a worker ends before it accepts connections. The worker's standard error has the
   * reason.
   * @param args command line of a worker.
   * @returns the URL, when all workers accept connections.
   */
  async start(args: readonly string[]): Promise<string> {
    cluster.setupPrimary({ args: [...args] });
    cluster.on('message', (_worker, message: FromWorker) => this.hear(message));
    this.timer = setInterval(() => this.askStates(), STATE_INTERVAL_MS);
    this.timer.unref();
    try {
      // With `port: 0`, the first worker gets a free port. The other workers must use the same port.
      const gatewayUrl = await this.startOne();
      this.environment = { TRAILGATE_GATEWAY_PORT: String(portOf(gatewayUrl)) };
      await Promise.all(Array.from({ length: this.count - 1 }, () => this.startOne()));
      return gatewayUrl;
    } catch (error) {
      await this.stop(0);
      throw error;
    }
  }

  /** Returns the last states of the workers, without I/O. */
  state(): PoolState {
    const ready = [...this.members.values()].filter((member) => member.ready);
    return {
      ready: ready.length,
      count: this.count,
      silent: ready.filter(isSilent).length,
      states: ready.flatMap(({ state }) => state ?? []),
    };
  }

  /** Returns the merged metrics of all processes. Does not wait for hanging workers. Never rejects. */
  async metrics(own: readonly Family[]): Promise<Family[]> {
    await Promise.all([...this.members.values()].map((member) => this.refreshMetrics(member)));
    await this.departing;
    const workers = [...this.members.values()].map(({ metrics }) => metrics);
    return mergeMetrics([own, ...workers, this.departed]);
  }

  /** Forwards a signal such as SIGHUP. Starting workers receive it when they are ready. */
  signal(name: NodeJS.Signals): void {
    for (const member of this.members.values()) {
      if (member.ready) member.worker.process.kill(name);
      else member.missed = name;
    }
  }

  /** Shuts down all workers. After `timeoutMs`, kills the workers that are still running. */
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
   * Starts a worker. Resolves with the URL when the worker accepts connections. Rejects if the worker ends first. If
   * the worker ends later, the pool replaces it.
   */
  private startOne(): Promise<string> {
    if (this.stopping) return Promise.reject(new Error('the program ends'));
    const worker = cluster.fork(this.environment);
    const member: Member = {
      worker,
      startedMs: performance.now(),
      ready: false,
      metrics: [],
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
      // The process could not be created, or a signal could not be sent.
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
      this.keepCounters(member.metrics);
      if (this.stopping) return;
      METRICS.workerRestarts.series().inc();
      this.log.error({ event: 'worker_ended', pid: member.worker.process.pid, code, signal }, 'A worker is replaced');
      if (performance.now() - member.startedMs > GROWN_UP_MS) this.pauseMs = SHORTEST_PAUSE_MS;
      setTimeout(() => void this.replace(), this.pauseMs);
      this.pauseMs = Math.min(LONGEST_PAUSE_MS, this.pauseMs * 2);
    });
  }

  /**
   * Keeps the counters of an ended worker. Merges run one after the other, because each merge adds to the result of the
   * previous merge.
   */
  private keepCounters(metrics: readonly Family[]): void {
    this.departing = this.departing.then(async () => {
      this.departed = lastingMetrics(await mergeMetrics([this.departed, metrics]));
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

  /**
   * Requests the state of each ready worker that has no open request. Requests therefore do not queue up at a hanging
   * worker.
   */
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

  /**
   * Requests the metrics of a worker. Resolves after the timeout at the latest. The next scrape uses a late response.
   */
  private refreshMetrics(member: Member): Promise<void> {
    if (!member.ready || isSilent(member)) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, METRICS_TIMEOUT_MS);
      this.ask(member, 'metrics', (metrics) => {
        clearTimeout(timer);
        if (metrics !== undefined) member.metrics = metrics as readonly Family[];
        resolve();
      });
    });
  }

  private ask({ worker }: Member, what: keyof Readings, answered: Question['onAnswer']): void {
    const id = ++this.askedSoFar;
    const question: ToWorker = { type: 'ask', id, what };
    this.asked.set(id, { worker, onAnswer: answered });
    worker.send(question, (error) => {
      if (error !== null) this.tell(id, undefined);
    });
  }

  private tell(id: number, value: Readings[keyof Readings] | undefined): void {
    const question = this.asked.get(id);
    this.asked.delete(id);
    question?.onAnswer(value);
  }

  private hear(message: FromWorker): void {
    if (message.type === 'answer') this.tell(message.id, message.value);
    if (message.type === 'work') this.onWork(message.message);
  }
}

function isSilent({ heardMs }: Member): boolean {
  return performance.now() - heardMs > SILENT_MS;
}
