/**
 * Stores events that are created from backend responses. The backend has already carried out the request, so a problem
 * with the event never changes the response. The response waits up to 500 ms until its event is stored. After that, the
 * event waits in memory. Invalid events, and events that exceed the memory limits, are dropped and logged.
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
import type { ReadsGauges } from '../../platform/collect-metrics.js';
import type { WorkSignal } from '../../outbox/work-signal.js';
import type { ForeignEvent } from '../../outbox/event-types.js';
import { addEvents } from '../../outbox/outbox.js';
import { EventSchemas } from './event-batch.js';

/** Source name of these events in the database and in metrics. */
const SOURCE = 'emits';
/** Maximum time that a response waits until its event is stored. */
const RESPONSE_TIMEOUT_MS = 500;
/** Maximum number of events that wait in this process. */
const MAX_EVENTS = 10_000;
/** Maximum total length of the data of waiting events, in UTF-16 code units. */
const MAX_BYTES = 16 * 1_024 * 1_024;
const EVENTS_PER_TRANSACTION = 250;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** Maximum time to write the last events during shutdown. Shorter than a shutdown phase. */
const STOP_TIMEOUT_MS = 4_000;
/** Minimum interval between log lines about the same operation or event type, and between lines about lost events. */
const COMPLAINT_INTERVAL_MS = 60_000;
/** Maximum number of lost events listed in one log line. */
const MAX_LISTED = 20;
/** Format of a resource ID, as for events that services send. */
const RESOURCE = /^[\x21-\x7e]{1,200}$/;

/** An event that was created from a response. */
export interface Emitted {
  readonly accountId: string;
  /** Type of the event, and the path of the resource ID in the data; undefined without a resource. */
  readonly emits: { readonly type: string; readonly resource: readonly string[] | undefined };
  readonly data: Readonly<Record<string, unknown>>;
  /** The data as JSON text, as sent by the backend. */
  readonly text: string;
}

/** An event that was not written yet. */
interface WaitingEvent extends ForeignEvent {
  /** Parsed data; undefined after the schema check or the timeout, to save memory. */
  data: Emitted['data'] | undefined;
  state: 'unchecked' | 'accepted' | 'unusable';
  /** Releases the response; undefined after that. */
  done: (() => void) | undefined;
  /** Latest time at which the response is released, by `performance.now()`. */
  lateAtMs: number;
}

/** The properties of a lost event that are logged. */
type Lost = Pick<WaitingEvent, 'type' | 'accountId' | 'resource'>;

/** EmittedEvents writes events in batches. Events that arrive during a transaction share the next transaction. */
export class EmittedEvents implements ReadsGauges {
  private readonly schemas: EventSchemas;
  private readonly waiting: WaitingEvent[] = [];
  /** Time of the latest log line by operation or event type; the empty key is for lost events. */
  private readonly loggedAtMs = new Map<string, number>();
  private readonly processId = randomUUID();
  /** Total length of the data of waiting events, in UTF-16 code units. */
  private bytes = 0;
  /** Number of events so far, for their dedupe keys. */
  private count = 0;
  /** Number of consecutive failed writes. */
  private failures = 0;
  /** Number of lost events that were not logged yet. */
  private unreported = 0;
  /** Timer for the first event in `waiting` whose response waits. The events are in order of their deadlines. */
  private timer: NodeJS.Timeout | undefined;
  private isStopping = false;
  /** Whether `stop` has stopped waiting. A failed write is then not retried. */
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

  /** Adds an event. Calls `done` once: after the event was stored or dropped, or after 500 ms. Never throws. */
  add({ accountId, emits, data, text }: Emitted, done: () => void): void {
    const resource = resourceIn(data, emits.resource);
    if (this.waiting.length >= MAX_EVENTS || this.bytes + text.length > MAX_BYTES) {
      this.recordLost([{ type: emits.type, accountId, resource }]);
      done();
      return;
    }
    const event: WaitingEvent = {
      type: emits.type,
      accountId,
      dataText: text,
      // Generate the key, because IDs that clients choose may repeat.
      dedupeKey: `${SOURCE}:${this.processId}:${++this.count}`,
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
    // Collect the events of this turn of the event loop, because a transaction costs more than an event.
    this.writing ??= nextTurn().then(() => this.write());
  }

  /**
   * Counts a successful response that could not become an event. Logs at most one line per minute and operation.
   * @param operation operation ID or event type.
   */
  recordUnusable(operation: string, reason: string): void {
    METRICS.events.series(SOURCE, 'unusable').inc();
    const now = performance.now();
    if (now < (this.loggedAtMs.get(operation) ?? -Infinity) + COMPLAINT_INTERVAL_MS) return;
    this.loggedAtMs.set(operation, now);
    this.log.warn({ event: 'event_unusable', operation, reason }, 'A response could not be turned into an event');
  }

  /** Writes the remaining events for up to `timeoutMs`. Events that are left after that are lost and logged. */
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

  /**
   * Updates the number of waiting events whose responses were released. The other events only wait for a transaction.
   */
  readGauges(): void {
    const late = this.waiting.reduce((count, { done }) => (done === undefined ? count + 1 : count), 0);
    METRICS.eventsUnwritten.series().set(late);
  }

  /** Releases the responses whose time is over, and sets the timer for the next one. */
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

  /** Writes all waiting events. Repeats failed writes until `isOver`. */
  private async write(): Promise<void> {
    while (this.waiting.length > 0) {
      const events = this.waiting.slice(0, EVENTS_PER_TRANSACTION);
      try {
        const { endpointIds } = await addEvents(this.db, await this.filterAccepted(events), this.clock.now());
        this.signal.signalEndpoints(endpointIds);
        this.removeWritten(events);
      } catch (error) {
        if (this.isOver) break;
        await this.pause(error);
      }
    }
    this.writing = undefined;
  }

  /**
   * Returns the events whose data matches the schema of their type. Never rejects, because one event must not block
   * others.
   */
  private async filterAccepted(events: readonly WaitingEvent[]): Promise<readonly WaitingEvent[]> {
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

  /**
   * Reports whether the data matches the schema.
   * @param check null if any data is valid; undefined if the configuration no longer contains the type. Both accept any
   *   data.
   */
  private isUsable(event: WaitingEvent, check: DataCheck | null | undefined): boolean {
    const fault = check?.(toPlain(event.data ?? parseExact(event.dataText)));
    event.data = undefined;
    if (fault !== undefined) this.recordUnusable(event.type, `${fault.pointer} ${fault.detail}`);
    return fault === undefined;
  }

  private removeWritten(events: readonly WaitingEvent[]): void {
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

  /**
   * Waits after a failed write. The pause doubles with each failure, but stays short during shutdown. Logs the first
   * failure.
   */
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

  /**
   * Counts lost events, and logs them at most once per `COMPLAINT_INTERVAL_MS`.
   * @param isLast whether to log them in any case.
   */
  private recordLost(lost: readonly Lost[], isLast = false): void {
    METRICS.events.series(SOURCE, 'dropped').inc(lost.length);
    this.unreported += lost.length;
    const now = performance.now();
    if (!isLast && now < (this.loggedAtMs.get('') ?? -Infinity) + COMPLAINT_INTERVAL_MS) return;
    this.loggedAtMs.set('', now);
    const named = lost
      .slice(0, MAX_LISTED)
      .map(({ type, accountId, resource }) => ({ type, account_id: accountId, resource }));
    const waiting = this.waiting.length;
    this.log.error(
      { event: 'event_dropped', dropped: this.unreported, waiting, named },
      'Events from responses were lost',
    );
    this.unreported = 0;
  }
}

/** Releases the response of an event. No effect if it was released before. */
function releaseResponse(event: WaitingEvent): void {
  const { done } = event;
  event.done = undefined;
  done?.();
}

/** Returns the resource ID in the data; null if the ID is missing or invalid. @param parts path of property names. */
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
