/**
 * Stores events that are made from backend responses. The backend has already made the change, so such an event is
 * never rejected. Its response waits briefly for it. After that the event waits in memory.
 */
import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { DataCheck } from '../../config/data-schema.js';
import type { EventType } from '../../config/model/schema.js';
import type { Tables } from '../../stores/database/schema.js';
import type { Clock } from '../../platform/clock.js';
import { isExactNumber, parseExact, plainDigits, toPlain } from '../../platform/json/exact-json.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';
import type { ReadsGauges } from '../../platform/metrics-text.js';
import type { WorkSignal } from '../../outbox/work-signal.js';
import type { ForeignEvent } from '../../outbox/event-types.js';
import { addEvents } from '../../outbox/outbox.js';
import { EventSchemas } from './event-batch.js';

/** Source name of these events. */
const SOURCE = 'emits';
/** Maximum time that a response waits for its event. */
const RESPONSE_TIMEOUT_MS = 500;
/** Limits for events waiting in this process. */
const MOST_EVENTS = 10_000;
const MOST_BYTES = 16 * 1_024 * 1_024;
const EVENTS_PER_TRANSACTION = 250;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** Time for the last events during shutdown; shorter than a shutdown phase. */
const STOP_TIMEOUT_MS = 4_000;
/** Interval between log messages about one operation. */
const COMPLAINT_INTERVAL_MS = 60_000;
/** Maximum number of lost events listed in one log line. */
const MOST_NAMED = 20;
/** Same format as for events sent by services. */
const RESOURCE = /^[\x21-\x7e]{1,200}$/;

/** An event made from a response. */
export interface Emitted {
  readonly accountId: string;
  readonly emits: { readonly type: string; readonly resource: readonly string[] | undefined };
  readonly data: Readonly<Record<string, unknown>>;
  /** The data as sent by the backend. */
  readonly text: string;
}

interface Waiting extends ForeignEvent {
  /** Parsed data until the schema check or the timeout. After that only the text is kept. */
  data: Emitted['data'] | undefined;
  state: 'unchecked' | 'accepted' | 'unusable';
  /** Set until the response has been released. */
  done: (() => void) | undefined;
  /** Time at which the response is released at the latest, by `performance.now()`. */
  lateAtMs: number;
}

/** Log fields of a lost event. */
type Lost = Pick<Waiting, 'type' | 'accountId' | 'resource'>;

/** EmittedEvents writes events in batches: those that arrive during a transaction share the next one. */
export class EmittedEvents implements ReadsGauges {
  private readonly schemas: EventSchemas;
  private readonly waiting: Waiting[] = [];
  private readonly complaints = new Map<string, number>();
  private readonly process = randomUUID();
  private bytes = 0;
  private count = 0;
  private failures = 0;
  /** Lost events that the log has not reported yet. */
  private unreported = 0;
  /** One timer for all events, which are in order of their deadlines. */
  private timer: NodeJS.Timeout | undefined;
  private isStopping = false;
  private isOver = false;
  private writing: Promise<void> | undefined;
  private endPause: () => void = () => undefined;

  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
    private readonly signal: WorkSignal,
    private readonly log: Logger,
    types: () => readonly EventType[] | undefined,
  ) {
    this.schemas = new EventSchemas(() => types() ?? []);
  }

  /** Adds an event. Calls `done` once, when the event is stored or storing takes too long. Never throws. */
  add({ accountId, emits, data, text }: Emitted, done: () => void): void {
    const resource = resourceIn(data, emits.resource);
    if (this.waiting.length >= MOST_EVENTS || this.bytes + text.length > MOST_BYTES) {
      this.recordLost([{ type: emits.type, accountId, resource }]);
      done();
      return;
    }
    const event: Waiting = {
      type: emits.type,
      accountId,
      dataText: text,
      // Generated here, because IDs chosen by clients may repeat.
      dedupeKey: `${SOURCE}:${this.process}:${++this.count}`,
      source: SOURCE,
      resource,
      occurredAtMs: this.clock.now(),
      fingerprint: null,
      data,
      state: 'unchecked',
      done,
      lateAtMs: performance.now() + RESPONSE_TIMEOUT_MS,
    };
    this.waiting.push(event);
    this.bytes += text.length;
    this.timer ??= setTimeout(() => this.releaseLate(), RESPONSE_TIMEOUT_MS);
    // Batches the events of this turn of the event loop, because a transaction costs more than an event.
    this.writing ??= nextTurn().then(() => this.write());
  }

  /** Counts and logs a successful response that could not become an event. */
  recordUnusable(operation: string, reason: string): void {
    METRICS.events.series(SOURCE, 'unusable').inc();
    const now = performance.now();
    if (now < (this.complaints.get(operation) ?? -Infinity) + COMPLAINT_INTERVAL_MS) return;
    this.complaints.set(operation, now);
    this.log.warn({ event: 'event_unusable', operation, reason }, 'A response could not be turned into an event');
  }

  /** Writes the remaining events for up to `timeoutMs`. The rest is lost and counted. */
  async stop(timeoutMs = STOP_TIMEOUT_MS): Promise<void> {
    this.isStopping = true;
    this.endPause();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, timeoutMs)));
    await Promise.race([this.writing, late]);
    clearTimeout(timer);
    this.isOver = true;
    this.endPause();
    clearTimeout(this.timer);
    const lost = this.waiting.splice(0);
    if (lost.length > 0) this.recordLost(lost, true);
    for (const event of lost) releaseResponse(event);
  }

  /** Counts only events whose responses were released. Others merely wait for their transaction. */
  readGauges(): void {
    const late = this.waiting.reduce((count, { done }) => (done === undefined ? count + 1 : count), 0);
    METRICS.eventsUnwritten.series().set(late);
  }

  private releaseLate(): void {
    this.timer = undefined;
    const now = performance.now();
    for (const event of this.waiting) {
      if (event.done === undefined) continue;
      if (event.lateAtMs > now) {
        this.timer = setTimeout(() => this.releaseLate(), event.lateAtMs - now);
        return;
      }
      METRICS.events.series(SOURCE, 'late').inc();
      event.data = undefined;
      releaseResponse(event);
    }
  }

  private async write(): Promise<void> {
    while (this.waiting.length > 0) {
      const events = this.waiting.slice(0, EVENTS_PER_TRANSACTION);
      try {
        const { endpointIds } = await addEvents(this.db, await this.filterAccepted(events), this.clock.now());
        this.signal.tell(endpointIds);
        this.removeWritten(events);
      } catch (error) {
        if (this.isOver) break;
        await this.pause(error);
      }
    }
    this.writing = undefined;
  }

  /**
   * Returns the events whose data matches the schema of their type. Never rejects, because one event must not block the
   * others.
   */
  private async filterAccepted(events: readonly Waiting[]): Promise<readonly Waiting[]> {
    const checks = new Map<string, DataCheck | null | undefined>();
    for (const event of events) {
      if (event.state !== 'unchecked') continue;
      try {
        if (!checks.has(event.type)) checks.set(event.type, await this.schemas.checkOf(event.type));
        event.state = this.isUsable(event, checks.get(event.type)) ? 'accepted' : 'unusable';
      } catch (error) {
        event.state = 'unusable';
        this.recordUnusable(event.type, error instanceof Error ? error.message : String(error));
      }
    }
    return events.filter(({ state }) => state === 'accepted');
  }

  private isUsable(event: Waiting, check: DataCheck | null | undefined): boolean {
    const fault = check?.(toPlain(event.data ?? parseExact(event.dataText)));
    event.data = undefined;
    if (fault !== undefined) this.recordUnusable(event.type, `${fault.pointer} ${fault.detail}`);
    return fault === undefined;
  }

  private removeWritten(events: readonly Waiting[]): void {
    this.waiting.splice(0, events.length);
    if (this.failures > 0) this.log.info({ event: 'events_written' }, 'Events from responses are stored again');
    this.failures = 0;
    let accepted = 0;
    for (const event of events) {
      this.bytes -= event.dataText.length;
      if (event.state === 'accepted') accepted += 1;
      releaseResponse(event);
    }
    METRICS.events.series(SOURCE, 'accepted').inc(accepted);
  }

  private async pause(error: unknown): Promise<void> {
    const message = 'Events from responses wait in memory; the database is not available';
    if (this.failures === 0) this.log.error({ event: 'events_unwritten', err: error }, message);
    const growingMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.failures++);
    const pauseMs = this.isStopping ? FIRST_PAUSE_MS : growingMs;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pauseMs);
      this.endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Counts and logs lost events. @param isLast whether this is the last chance to log them. */
  private recordLost(lost: readonly Lost[], isLast = false): void {
    METRICS.events.series(SOURCE, 'dropped').inc(lost.length);
    this.unreported += lost.length;
    const now = performance.now();
    if (!isLast && now < (this.complaints.get('') ?? -Infinity) + COMPLAINT_INTERVAL_MS) return;
    this.complaints.set('', now);
    const named = lost
      .slice(0, MOST_NAMED)
      .map(({ type, accountId, resource }) => ({ type, account_id: accountId, resource }));
    const waiting = this.waiting.length;
    this.log.error(
      { event: 'event_dropped', dropped: this.unreported, waiting, named },
      'Events from responses were lost',
    );
    this.unreported = 0;
  }
}

/** Releases the response, once. */
function releaseResponse(event: Waiting): void {
  const { done } = event;
  event.done = undefined;
  done?.();
}

/** Returns the resource ID of an event, or null if the data has none. */
function resourceIn(data: unknown, parts: readonly string[] | undefined): string | null {
  if (parts === undefined) return null;
  let value: unknown = data;
  for (const part of parts) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return null;
    value = (value as Record<string, unknown>)[part];
  }
  const text = typeof value === 'number' || isExactNumber(value) ? plainDigits(value) : value;
  return typeof text === 'string' && RESOURCE.test(text) ? text : null;
}
