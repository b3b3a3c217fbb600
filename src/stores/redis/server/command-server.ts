/**
 * Serves commands to clients of Redis over a Unix domain socket, as far as this program sends any: each in its turn,
 * with what one read of the socket brought written back at once.
 */
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { CommandReader, CommandSyntaxError } from './command-reader.js';
import { errorReply, pushReply } from './replies.js';

/** A client that reads nothing is let go of when as much waits for it: it stands still, and will connect again. */
const MOST_UNREAD_BYTES = 8 * 1024 * 1024;

/** Client is who has sent a command. */
export interface Client {
  /** Has it told what is published on a channel. */
  subscribe(channel: string): void;
  /** Tells whoever listens to a channel. @returns how many those are. */
  publish(channel: string, text: string): number;
}

/** Carries a command out, and returns what is written back. */
export type Command = (args: readonly string[], client: Client) => string;

/** Commands by their names in small letters. */
export type Commands = ReadonlyMap<string, Command>;

/** CommandServer listens, and carries what is published from one client to the others. */
export class CommandServer {
  private readonly server: Server;
  private readonly connections = new Set<Connection>();
  private readonly channels = new Channels();
  private whenAlone: (() => void) | undefined;
  private ending: NodeJS.Timeout | undefined;
  private graceMs = 0;

  /** @param path of the socket. What stands there is taken for the rest of a process that is gone. */
  constructor(
    private readonly path: string,
    private readonly commands: Commands,
  ) {
    this.server = createServer((socket) => this.welcome(socket));
  }

  /** Resolves when clients can connect; rejects where the socket cannot be made. */
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

  /** Calls back when nobody has been connected for `graceMs`: whoever connects again meanwhile finds all as it was. */
  onceAlone(graceMs: number, done: () => void): void {
    this.graceMs = graceMs;
    this.whenAlone = done;
    this.lookIfAlone();
  }

  /** Lets everybody go. Resolves when the socket is closed. */
  close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const connection of this.connections) connection.end();
    return closed;
  }

  private lookIfAlone(): void {
    clearTimeout(this.ending);
    const { whenAlone } = this;
    if (whenAlone === undefined || this.connections.size > 0) return;
    this.ending = setTimeout(whenAlone, this.graceMs);
  }

  private welcome(socket: Socket): void {
    const connection = new Connection(socket, this.commands, this.channels);
    this.connections.add(connection);
    this.lookIfAlone();
    socket.on('close', () => {
      this.connections.delete(connection);
      this.channels.forget(connection);
      this.lookIfAlone();
    });
  }
}

/** Who listens to which channel. */
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
  /** What is written when everything that came has been read. */
  private replies = '';
  private channelCount = 0;

  constructor(
    private readonly socket: Socket,
    private readonly commands: Commands,
    private readonly channels: Channels,
  ) {
    socket.on('data', this.onData);
    // `close` follows, and there is nobody to tell.
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
    if (this.socket.writableLength > MOST_UNREAD_BYTES) this.socket.destroy();
  }

  end(): void {
    this.socket.destroy();
  }

  private readonly onData = (chunk: Buffer): void => this.take(chunk);

  private take(chunk: Buffer): void {
    this.replies = '';
    try {
      this.reader.take(chunk);
    } catch (error) {
      if (!(error instanceof CommandSyntaxError)) throw error;
      // Nothing more of it is read or kept.
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
      // Whatever it writes by itself goes first.
      const reply = command(args, this);
      this.replies += reply;
    } catch (error) {
      // One call that cannot be carried out is its caller's affair; the counts of the others stay.
      this.replies += errorReply(`ERR ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
