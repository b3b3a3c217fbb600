/**
 * Serves the Redis commands that this program uses, over a Unix domain socket, in the counting process. Runs commands
 * in order. Writes the replies to all commands of one read of the socket together.
 */
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { CommandReader, CommandSyntaxError } from './command-reader.js';
import { errorReply, pushReply } from './replies.js';

/**
 * Maximum bytes of unread data per client. The server disconnects a client that exceeds this limit, because the client
 * does not read. The client then connects again.
 */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024;

/** Client is the connection that has sent a command. */
export interface Client {
  subscribe(channel: string): void;
  /**
   * Sends a message to all subscribers of a channel.
   * @returns the number of subscribers.
   */
  publish(channel: string, text: string): number;
}

/** Command runs a command and returns the encoded reply. An error that it throws becomes an error reply. */
export type Command = (args: readonly string[], client: Client) => string;

/** Commands contains the commands by lower-case name. */
export type Commands = ReadonlyMap<string, Command>;

/** CommandServer accepts connections, and forwards published messages to subscribers. */
export class CommandServer {
  private readonly server: Server;
  private readonly connections = new Set<Connection>();
  private readonly channels = new Channels();
  private onIdle: (() => void) | undefined;
  private idleTimer: NodeJS.Timeout | undefined;
  private graceMs = 0;

  /** @param path path of the socket. An existing file is removed as a leftover of a dead process. */
  constructor(
    private readonly path: string,
    private readonly commands: Commands,
  ) {
    this.server = createServer((socket) => this.addConnection(socket));
  }

  /** Resolves when clients can connect. Rejects if the socket cannot be created. */
  listen(): Promise<void> {
    rmSync(this.path, { force: true });
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(this.path, () => {
        this.server.off('error', reject);
        resolve();
      });
    });
  }

  /**
   * Calls `done` when no client has been connected for `graceMs`. A client that reconnects within this time keeps the
   * process and its counts alive.
   */
  onceAlone(graceMs: number, done: () => void): void {
    this.graceMs = graceMs;
    this.onIdle = done;
    this.updateIdleTimer();
  }

  /** Disconnects all clients. Resolves when the socket is closed. */
  close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const connection of this.connections) connection.end();
    return closed;
  }

  private updateIdleTimer(): void {
    clearTimeout(this.idleTimer);
    const { onIdle } = this;
    if (onIdle === undefined || this.connections.size > 0) return;
    this.idleTimer = setTimeout(onIdle, this.graceMs);
  }

  private addConnection(socket: Socket): void {
    const connection = new Connection(socket, this.commands, this.channels);
    this.connections.add(connection);
    this.updateIdleTimer();
    socket.on('close', () => {
      this.connections.delete(connection);
      this.channels.forget(connection);
      this.updateIdleTimer();
    });
  }
}

class Channels {
  private readonly listeners = new Map<string, Set<Connection>>();

  add(channel: string, listener: Connection): void {
    const listeners = this.listeners.get(channel) ?? new Set();
    this.listeners.set(channel, listeners.add(listener));
  }

  publish(channel: string, text: string): number {
    const listeners = this.listeners.get(channel);
    if (listeners === undefined) return 0;
    const message = pushReply('message', channel, text);
    for (const listener of listeners) listener.write(message);
    return listeners.size;
  }

  forget(listener: Connection): void {
    for (const [channel, listeners] of this.listeners) {
      if (listeners.delete(listener) && listeners.size === 0) this.listeners.delete(channel);
    }
  }
}

class Connection implements Client {
  private readonly reader = new CommandReader((command) => this.run(command));
  /** Encoded replies to the commands of the current read. */
  private replies = '';
  private channelCount = 0;

  constructor(
    private readonly socket: Socket,
    private readonly commands: Commands,
    private readonly channels: Channels,
  ) {
    socket.on('data', this.onData);
    // Node emits `close` after an error, and that listener removes the connection.
    socket.on('error', () => undefined);
  }

  subscribe(channel: string): void {
    this.channels.add(channel, this);
    this.channelCount += 1;
    this.replies += pushReply('subscribe', channel, this.channelCount);
  }

  publish(channel: string, text: string): number {
    return this.channels.publish(channel, text);
  }

  write(text: string): void {
    if (text === '' || this.socket.destroyed) return;
    this.socket.write(text);
    if (this.socket.writableLength > MAX_UNREAD_BYTES) this.socket.destroy();
  }

  end(): void {
    this.socket.destroy();
  }

  private readonly onData = (chunk: Buffer): void => this.onChunk(chunk);

  private onChunk(chunk: Buffer): void {
    this.replies = '';
    try {
      this.reader.read(chunk);
    } catch (error) {
      if (!(error instanceof CommandSyntaxError)) throw error;
      // The server stops reading, because the position of the next command is unknown.
      this.socket.off('data', this.onData);
      this.socket.write(this.replies + errorReply(`ERR ${error.message}`));
      this.socket.destroySoon();
      return;
    }
    this.write(this.replies);
  }

  private run([name = '', ...args]: readonly string[]): void {
    const command = this.commands.get(name.toLowerCase());
    if (command === undefined) {
      this.replies += errorReply(`ERR unknown command '${name.slice(0, 64)}'`);
      return;
    }
    try {
      // The command may itself add replies, which precede the returned reply.
      const reply = command(args, this);
      this.replies += reply;
    } catch (error) {
      // Only the caller gets the error. Other commands and their counts are not affected.
      this.replies += errorReply(`ERR ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
