/**
 * Keeps guarded connections open for further requests to the same destination, because opening a connection costs more
 * than a request. `openGuardedSocket` checks each connection when it is opened. After the rules have changed, new
 * requests don't reuse earlier connections.
 */
import { Agent, type ClientRequest, type ClientRequestArgs } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Destination, OutboundRules } from './destination.js';
import { openGuardedSocket, type GuardedSocketOptions } from './guarded-socket.js';
import { OutboundFailed } from './outbound-failed.js';

/** Idle timeout of a connection. A receiver with a shorter timeout announces its timeout or closes the connection. */
const IDLE_TIMEOUT_MS = 10_000;
/** Maximum number of idle connections per destination, and of one agent in total. */
const MAX_IDLE_EACH = 8;
const MAX_IDLE = 512;
/** Maximum age of an agent. New requests then use another agent, so that names are resolved again. */
const AGENT_LIFETIME_MS = 60_000;

/** GuardedArgs are Node's request options with the destination. */
export interface GuardedArgs extends ClientRequestArgs {
  readonly destination: Destination;
  /** Aborts the opening of a connection, and later destroys the connection. */
  readonly abort: AbortSignal;
}

type ConnectArgs = Pick<GuardedArgs, 'destination' | 'abort'>;
type SocketCallback = (error: Error | null, socket: Duplex) => void;

/**
 * GuardedConnectionsOptions are the options for opening connections, except for the rules, which can change with each
 * request.
 */
export type GuardedConnectionsOptions = Omit<GuardedSocketOptions, 'rules'>;

/**
 * Opens a guarded connection. The signature is that of `createConnection` in Node's requests and agents.
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
 * GuardedAgent opens guarded connections and keeps them for reuse. Node's agents use a proxy only if `proxyEnv` is set,
 * which is not the case here.
 */
class GuardedAgent extends Agent {
  private readonly idle = new Set<Duplex>();

  constructor(private readonly guard: GuardedSocketOptions) {
    super({ keepAlive: true, maxFreeSockets: MAX_IDLE_EACH, timeout: IDLE_TIMEOUT_MS });
  }

  /**
   * Returns the name by which connections are reused. A connection serves only one scheme and authority, because its
   * certificate was checked for that name.
   */
  override getName(options?: ClientRequestArgs): string {
    const { isSecure, authority } = (options as GuardedArgs).destination;
    return `${isSecure ? 'https' : 'http'}://${authority}`;
  }

  override createConnection(options: ClientRequestArgs, callback: SocketCallback = () => {}): undefined {
    return connectGuarded(options as GuardedArgs, this.guard, (error, socket) => {
      // Register the listener here, once per socket. `keepSocketAlive` runs many times for one socket.
      if (error === null) socket.once('close', () => this.idle.delete(socket));
      callback(error, socket);
    });
  }

  override keepSocketAlive(socket: Duplex): boolean {
    if (this.idle.size >= MAX_IDLE) return false;
    // Node's method also applies the timeout in `Keep-Alive`. Its return type is missing in the type definitions.
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
   * Returns the agent for requests with these rules. Creates another agent if the rules have changed or the agent is
   * too old. The previous agent finishes its running requests, and its idle connections time out without being used.
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
 * Reports whether a request failed because its reused connection was closed. The receiver had most likely closed the
 * idle connection before the request arrived, so the request can be sent again.
 */
export function wasClosedWhileIdle(request: ClientRequest, error: unknown): boolean {
  return request.reusedSocket && error instanceof OutboundFailed && error.reason === 'connection_closed';
}
