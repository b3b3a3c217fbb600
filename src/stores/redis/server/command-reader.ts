/** Reads commands as clients of Redis write them (RESP: an array of bulk strings), from bytes as they come. */

/** Longest command that is waited for: several times the longest that a gateway sends. */
const LONGEST_COMMAND_BYTES = 8 * 1024 * 1024;
/** A call of 256 decisions has a thousand. */
const MOST_ARGUMENTS = 65_536;

const STAR = 0x2a;
const DOLLAR = 0x24;
const CR = 0x0d;
const LF = 0x0a;
const ZERO = 0x30;
const NINE = 0x39;
const EMPTY = Buffer.alloc(0);
/** The rest of a command has not come yet. */
const UNFINISHED = -1;

/** What was sent is no command: the connection is of no more use. */
export class CommandSyntaxError extends Error {}

/** CommandReader puts commands together, one after the other. */
export class CommandReader {
  private bytes: Buffer = EMPTY;
  /** Where the number that was read last ends. */
  private end = 0;

  /** @param told gets each command: its name and what follows it. */
  constructor(private readonly told: (command: readonly string[]) => void) {}

  /** Takes what came. @throws CommandSyntaxError */
  take(chunk: Buffer): void {
    this.bytes = this.bytes.length === 0 ? chunk : Buffer.concat([this.bytes, chunk]);
    let from = 0;
    for (let next = this.read(from); next !== UNFINISHED; next = this.read(from)) from = next;
    if (from > 0) this.bytes = from === this.bytes.length ? EMPTY : this.bytes.subarray(from);
    if (this.bytes.length > LONGEST_COMMAND_BYTES) throw new CommandSyntaxError('a command is too long');
  }

  /** Reads the command that begins at `from`. @returns where the next one begins. */
  private read(from: number): number {
    const { bytes } = this;
    if (from >= bytes.length) return UNFINISHED;
    const count = this.numberAt(from, STAR);
    if (count === UNFINISHED) return UNFINISHED;
    if (count < 1 || count > MOST_ARGUMENTS) throw new CommandSyntaxError('a command has too many parts, or none');
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
    this.told(command);
    return at;
  }

  /** The number behind a sign, up to the end of its line; `end` is set behind that. */
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
