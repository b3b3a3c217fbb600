/**
 * Keeps connections to strangers' destinations for the next request to the same one: opening a connection costs more
 * than a request. Each was opened and looked at as `openGuardedSocket` does, by the rules that are asked of it again
 * when they change: a connection never outlives the rules that it was opened by.
 */
import { Agent, type ClientRequest, type ClientRequestArgs } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Destination, OutboundRules } from './destination.js';
import { openGuardedSocket, type GuardedSocketOptions } from './guarded-socket.js';
import { OutboundFailed } from './outbound-failed.js';

/** Without a request a connection is closed; receivers that keep theirs for a shorter time say so, or close it. */
const IDLE_TIMEOUT_MS = 10_000;
/** Idle connections to one destination, and to all. */
const MOST_IDLE_EACH = 8;
const MOST_IDLE = 512;
/** So long what was opened is used: where the name leads to is asked again then. */
const LIFE_MS = 60_000;

/** What a request for a guarded connection brings beside what Node knows. */
export interface GuardedArgs extends ClientRequestArgs {
  readonly destination: Destination;
  /** Ends the attempt to open one. */
  readonly abort: AbortSignal;
}

type ConnectArgs = Pick<GuardedArgs, 'destination' | 'abort'>;
type SocketCallback = (error: Error | null, socket: Duplex) => void;

/** What connections are opened with; the rules come with each request. */
export type GuardedConnectionsOptions = Omit<GuardedSocketOptions, 'rules'>;

/**
 * Opens a guarded connection as `createConnection` of Node's requests and agents wants it.
 * @returns nothing: `told` is called, once.
 */
export function connectGuarded(args: ConnectArgs, options: GuardedSocketOptions, told: SocketCallback): undefined {
  void open(args, options, told);
}

async function open({ destination, abort }: ConnectArgs, options: GuardedSocketOptions, told: SocketCallback) {
  let socket: Duplex;
  try {
    socket = await openGuardedSocket(destination, options, abort);
  } catch (error) {
    // Node looks at the error first, and at nothing else then.
    return (told as (error: unknown) => void)(error);
  }
  told(null, socket);
}

/** An agent has no proxies unless it is given `proxyEnv`: this one never is. */
class GuardedAgent extends Agent {
  private readonly idle = new Set<Duplex>();

  constructor(private readonly guard: GuardedSocketOptions) {
    super({ keepAlive: true, maxFreeSockets: MOST_IDLE_EACH, timeout: IDLE_TIMEOUT_MS });
  }

  /** One that is open for a scheme and an authority is for no other: its certificate was for that name. */
  override getName(options?: ClientRequestArgs): string {
    const { isSecure, authority } = (options as GuardedArgs).destination;
    return `${isSecure ? 'https' : 'http'}://${authority}`;
  }

  override createConnection(options: ClientRequestArgs, callback: SocketCallback = () => {}): undefined {
    return connectGuarded(options as GuardedArgs, this.guard, (error, socket) => {
      // Once, here: a socket is kept many times.
      if (error === null) socket.once('close', () => this.idle.delete(socket));
      callback(error, socket);
    });
  }

  override keepSocketAlive(socket: Duplex): boolean {
    if (this.idle.size >= MOST_IDLE) return false;
    // Node's own says whether the receiver keeps it long enough (`Keep-Alive: timeout`); its types do not know that.
    if (!(super.keepSocketAlive(socket) as unknown as boolean)) return false;
    this.idle.add(socket);
    return true;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.idle.delete(socket);
    super.reuseSocket(socket, request);
  }
}

/** GuardedConnections hands out the agent that has them. */
export class GuardedConnections {
  private agent: GuardedAgent | undefined;
  private rules: OutboundRules | undefined;
  private sinceMs = 0;

  /** @param lifeMs another one in tests. */
  constructor(
    readonly options: GuardedConnectionsOptions,
    private readonly lifeMs = LIFE_MS,
  ) {}

  /**
   * The agent for requests under these rules. Other rules, or a minute, have another one: what the one before has under
   * way comes to its end there, and its idle connections close in their time, unused.
   */
  agentFor(rules: OutboundRules): Agent {
    const nowMs = performance.now();
    if (this.agent === undefined || rules !== this.rules || nowMs - this.sinceMs > this.lifeMs) {
      this.agent = new GuardedAgent({ ...this.options, rules });
      this.rules = rules;
      this.sinceMs = nowMs;
    }
    return this.agent;
  }

  /** Closes all that are open, also those that are in use. */
  close(): void {
    this.agent?.destroy();
    this.agent = undefined;
  }
}

/** Whether a connection that was idle turned out to be closed: the request has reached nobody, and may go again. */
export function wasClosedWhileIdle(request: ClientRequest, error: unknown): boolean {
  return request.reusedSocket && error instanceof OutboundFailed && error.reason === 'connection_closed';
}
