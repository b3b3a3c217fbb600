/**
 * Keeps guarded connections open for further requests to the same destination, because opening a connection costs more
 * than a request. `openGuardedSocket` checks each connection when it opens. A connection is not reused after the rules
 * have changed.
 */
import { Agent, type ClientRequest, type ClientRequestArgs } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Destination, OutboundRules } from './destination.js';
import { openGuardedSocket, type GuardedSocketOptions } from './guarded-socket.js';
import { OutboundFailed } from './outbound-failed.js';

/** Idle timeout. A receiver with a shorter timeout announces it or closes the connection. */
const IDLE_TIMEOUT_MS = 10_000;
/** Maximum idle connections per destination, and in total. */
const MAX_IDLE_EACH = 8;
const MAX_IDLE = 512;
/** Maximum age of an agent. Its connections are then no longer reused, so that names are resolved again. */
const AGENT_LIFETIME_MS = 60_000;

/** Request options with the destination, in addition to Node's own. */
export interface GuardedArgs extends ClientRequestArgs {
  readonly destination: Destination;
  /** Aborts opening a connection. */
  readonly abort: AbortSignal;
}

type ConnectArgs = Pick<GuardedArgs, 'destination' | 'abort'>;
type SocketCallback = (error: Error | null, socket: Duplex) => void;

/** Options for opening connections. The rules come with each request. */
export type GuardedConnectionsOptions = Omit<GuardedSocketOptions, 'rules'>;

/**
 * Opens a guarded connection, in the form of `createConnection` in Node's requests and agents.
 * @param callback called once, with the socket or an error.
 * @returns undefined, so that Node waits for the callback.
 */
export function connectGuarded(args: ConnectArgs, options: GuardedSocketOptions, callback: SocketCallback): undefined {
  void connect(args, options, callback);
}

async function connect({ destination, abort }: ConnectArgs, options: GuardedSocketOptions, callback: SocketCallback) {
  let socket: Duplex;
  try {
    socket = await openGuardedSocket(destination, options, abort);
  } catch (error) {
    // Node ignores the socket argument if there is an error.
    return (callback as (error: unknown) => void)(error);
  }
  callback(null, socket);
}

/**
 * GuardedAgent opens and keeps guarded connections. Node's agents use a proxy only if `proxyEnv` is set, which is not
 * the case here.
 */
class GuardedAgent extends Agent {
  private readonly idle = new Set<Duplex>();

  constructor(private readonly guard: GuardedSocketOptions) {
    super({ keepAlive: true, maxFreeSockets: MAX_IDLE_EACH, timeout: IDLE_TIMEOUT_MS });
  }

  /**
   * Returns the name under which connections are kept. A connection serves one scheme and authority only, because its
   * certificate was checked for that name.
   */
  override getName(options?: ClientRequestArgs): string {
    const { isSecure, authority } = (options as GuardedArgs).destination;
    return `${isSecure ? 'https' : 'http'}://${authority}`;
  }

  override createConnection(options: ClientRequestArgs, callback: SocketCallback = () => {}): undefined {
    return connectGuarded(options as GuardedArgs, this.guard, (error, socket) => {
      // Registered once per socket, because `keepSocketAlive` runs many times for one socket.
      if (error === null) socket.once('close', () => this.idle.delete(socket));
      callback(error, socket);
    });
  }

  override keepSocketAlive(socket: Duplex): boolean {
    if (this.idle.size >= MAX_IDLE) return false;
    // Node's method also evaluates `Keep-Alive: timeout`. Its return type is missing in the type definitions.
    if (!(super.keepSocketAlive(socket) as unknown as boolean)) return false;
    this.idle.add(socket);
    return true;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.idle.delete(socket);
    super.reuseSocket(socket, request);
  }
}

export class GuardedConnections {
  private agent: GuardedAgent | undefined;
  private rules: OutboundRules | undefined;
  private sinceMs = 0;

  constructor(
    readonly options: GuardedConnectionsOptions,
    private readonly lifeMs = AGENT_LIFETIME_MS,
  ) {}

  /**
   * Returns the agent for requests under these rules. Creates another agent if the rules have changed or the agent is
   * too old. The previous agent finishes its running requests, and its idle connections time out unused.
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

  close(): void {
    this.agent?.destroy();
    this.agent = undefined;
  }
}

/**
 * Reports whether a request failed because its reused connection was already closed. The receiver has not seen such a
 * request, so it can be sent again.
 */
export function wasClosedWhileIdle(request: ClientRequest, error: unknown): boolean {
  return request.reusedSocket && error instanceof OutboundFailed && error.reason === 'connection_closed';
}
