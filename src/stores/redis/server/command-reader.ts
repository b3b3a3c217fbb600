/** Parses Redis commands (RESP arrays of bulk strings) from received bytes. */

/** Maximum length of a command in bytes, several times the longest that a gateway sends. */
const LONGEST_COMMAND_BYTES = 8 * 1024 * 1024;
/** Maximum number of arguments. A call with 256 decisions has about a thousand. */
const MAX_ARGUMENTS = 65_536;

const STAR = 0x2a;
const DOLLAR = 0x24;
const CR = 0x0d;
const LF = 0x0a;
const ZERO = 0x30;
const NINE = 0x39;
const EMPTY = Buffer.alloc(0);
const UNFINISHED = -1;

/**
 * CommandSyntaxError says that the input is not a valid command. After this error, the connection can no longer be
 * used.
 */
export class CommandSyntaxError extends Error {}

export class CommandReader {
  private bytes: Buffer = EMPTY;
  /** Offset after the line of the number that was read last. */
  private end = 0;

  /** @param onCommand called with the name and arguments of each command */
  constructor(private readonly onCommand: (command: readonly string[]) => void) {}

  /**
   * Processes received bytes. Keeps an incomplete command for the next call.
   * @throws CommandSyntaxError
   */
  read(chunk: Buffer): void {
    this.bytes = this.bytes.length === 0 ? chunk : Buffer.concat([this.bytes, chunk]);
    let from = 0;
    for (let next = this.readCommand(from); next !== UNFINISHED; next = this.readCommand(from)) from = next;
    if (from > 0) this.bytes = from === this.bytes.length ? EMPTY : this.bytes.subarray(from);
    if (this.bytes.length > LONGEST_COMMAND_BYTES) throw new CommandSyntaxError('a command is too long');
  }

  /**
   * Reads the command at `from`.
   * @returns the offset of the next command, or `UNFINISHED` if the command is incomplete.
   */
  private readCommand(from: number): number {
    const { bytes } = this;
    if (from >= bytes.length) return UNFINISHED;
    const count = this.numberAt(from, STAR);
    if (count === UNFINISHED) return UNFINISHED;
    if (count < 1 || count > MAX_ARGUMENTS) throw new CommandSyntaxError('a command has too many parts, or none');
    const command: string[] = [];
    let at = this.end;
    for (let part = 0; part < count; part++) {
      const length = this.numberAt(at, DOLLAR);
      if (length === UNFINISHED || this.end + length + 2 > bytes.length) return UNFINISHED;
      at = this.end + length;
      command.push(bytes.toString('utf8', this.end, at));
      if (bytes[at] !== CR || bytes[at + 1] !== LF) throw new CommandSyntaxError('a part is longer than it says');
      at += 2;
    }
    this.onCommand(command);
    return at;
  }

  /**
   * Reads the number after a type sign such as `*`, and sets `end` to the offset after its line. Returns `UNFINISHED`
   * if the line is incomplete.
   */
  private numberAt(at: number, sign: number): number {
    const { bytes } = this;
    if (at >= bytes.length) return UNFINISHED;
    if (bytes[at] !== sign) throw new CommandSyntaxError('this is no array of bulk strings');
    let number = 0;
    for (let index = at + 1; index < bytes.length; index++) {
      const code = bytes[index]!;
      if (code === CR) {
        if (index + 1 >= bytes.length) return UNFINISHED;
        this.end = index + 2;
        return number;
      }
      number = number * 10 + code - ZERO;
      if (code < ZERO || code > NINE || number > LONGEST_COMMAND_BYTES) {
        throw new CommandSyntaxError('a length is no number, or too large');
      }
    }
    return UNFINISHED;
  }
}
