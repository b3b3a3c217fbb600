/**
 * Receives PostgreSQL notifications from other processes on a separate connection. A `pg` client does not listen again
 * after its session has ended, and does not notice a network that drops everything. A connection pooler in transaction
 * mode accepts `listen` but delivers nothing. So the process periodically sends itself a notification, the beat, from
 * another session. Only a received beat proves that notifications arrive.
 */
import { randomUUID } from 'node:crypto';
import { Socket } from 'node:net';
import type { Client, Notification } from 'pg';
import type { Logger } from '../../platform/log.js';

/** Interval between two beats. */
const BEAT_INTERVAL_MS = 30_000;
/** Maximum time until a beat is received. */
const BEAT_TIMEOUT_MS = 5_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** Pause before a beat that could not be sent is sent again. */
const UNSENT_PAUSE_MS = 1_000;
/** First pause between connection attempts. Each failure doubles the pause, up to `LONGEST_PAUSE_MS`. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** Prefix of the messages that are beats. */
const BEAT = 'beat ';

const NO_NOTIFICATIONS =
  'PostgreSQL accepts "listen" but delivers no notifications, as behind a pooler in transaction mode';

/** Dependencies and callbacks of `WorkListener`. */
export interface WorkListenerParts {
  readonly databaseUrl: string;
  readonly channel: string;
  /**
   * Sends a message to the channel from another session. A message from the listener's own session would prove nothing,
   * because a pooler delivers notifications to a session while it runs a statement.
   */
  readonly notify: (message: string) => Promise<unknown>;
  /** Called with each message except beats. */
  readonly onMessage: (message: string) => void;
  /** Called when notifications arrive, for the first time or again. Earlier notifications may be lost. */
  readonly onUp: () => void;
  /** Called when notifications no longer arrive. */
  readonly onDown: () => void;
  readonly log: Logger;
  /** Intervals for tests. */
  readonly beatIntervalMs?: number;
  readonly beatTimeoutMs?: number;
}

/** WorkListener listens until it is stopped, and reconnects after failures. */
export class WorkListener {
  private client: Client | undefined;
  private socket: Socket | undefined;
  private timer: NodeJS.Timeout | undefined;
  private pauseMs = FIRST_PAUSE_MS;
  private isStopped = false;
  private hasLoggedLoss = false;
  /** The latest beat that was sent. */
  private beat = '';
  /** Whether notifications arrive, as the latest beat has shown. */
  isListening = false;

  constructor(private readonly parts: WorkListenerParts) {}

  /** Connects and listens. Never rejects. After a failure, connects again. */
  async start(): Promise<void> {
    // Load the module on demand, because it takes half a megabyte of memory.
    const { Client: PgClient } = await import('pg');
    if (this.isStopped) return;
    // Pass a socket that this class can destroy. `client.end` would wait for an unresponsive server.
    const socket = new Socket();
    const client = new PgClient({
      connectionString: this.parts.databaseUrl,
      application_name: 'trailgate listener',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      stream: () => socket,
    });
    this.client = client;
    this.socket = socket;
    client.on('error', (error) => this.onLost(client, error));
    client.on('end', () => this.onLost(client, undefined));
    client.on('notification', (notification) => this.onNotification(notification));
    try {
      await client.connect();
      await client.query(`listen ${client.escapeIdentifier(this.parts.channel)}`);
    } catch (error) {
      return this.onLost(client, error);
    }
    if (this.client === client) this.sendBeat(client);
  }

  /** Stops listening, and closes the connection. Never rejects. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    const { client, socket } = this;
    this.client = undefined;
    await client?.end().catch(() => undefined);
    socket?.destroy();
  }

  /** Sends a beat, and sets the timeout for its arrival. */
  private sendBeat(client: Client): void {
    const { notify, beatTimeoutMs = BEAT_TIMEOUT_MS } = this.parts;
    this.beat = `${BEAT}${randomUUID()}`;
    this.timer = setTimeout(() => this.onBeatTimeout(client), beatTimeoutMs);
    this.timer.unref();
    notify(this.beat).catch(() => this.retryBeat(client));
  }

  /** Sends the beat again later. The database is unavailable or busy, which says nothing about this connection. */
  private retryBeat(client: Client): void {
    if (this.client !== client || this.isStopped) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.sendBeat(client), UNSENT_PAUSE_MS);
    this.timer.unref();
  }

  private onNotification({ payload = '' }: Notification): void {
    if (!payload.startsWith(BEAT)) return this.parts.onMessage(payload);
    const { client } = this;
    // Beats of other processes are ignored.
    if (payload !== this.beat || client === undefined) return;
    clearTimeout(this.timer);
    if (!this.isListening) this.onListening();
    this.timer = setTimeout(() => this.sendBeat(client), this.parts.beatIntervalMs ?? BEAT_INTERVAL_MS);
    this.timer.unref();
  }

  private onListening(): void {
    this.isListening = true;
    this.pauseMs = FIRST_PAUSE_MS;
    if (this.hasLoggedLoss) {
      this.hasLoggedLoss = false;
      this.parts.log.info({ event: 'webhook_listener_back' }, 'Notifications from PostgreSQL arrive again');
    }
    this.parts.onUp();
  }

  private onBeatTimeout(client: Client): void {
    // If no beat has arrived on this connection, a quick reconnect will not help.
    if (!this.isListening) this.pauseMs = this.parts.beatIntervalMs ?? BEAT_INTERVAL_MS;
    this.onLost(client, new Error(this.isListening ? 'no notification within the timeout' : NO_NOTIFICATIONS));
  }

  /** Drops the connection after a failure, and connects again after a pause. */
  private onLost(client: Client, error: unknown): void {
    if (this.client !== client || this.isStopped) return;
    this.client = undefined;
    clearTimeout(this.timer);
    this.socket?.destroy();
    client.end().catch(() => undefined);
    if (this.isListening) this.parts.onDown();
    this.isListening = false;
    if (!this.hasLoggedLoss) {
      this.hasLoggedLoss = true;
      const text = 'Notifications from PostgreSQL do not arrive; workers poll for deliveries';
      this.parts.log.warn({ event: 'webhook_listener_lost', err: error }, text);
    }
    this.timer = setTimeout(() => void this.start(), this.pauseMs);
    this.timer.unref();
    this.pauseMs = Math.min(LONGEST_PAUSE_MS, this.pauseMs * 2);
  }
}
