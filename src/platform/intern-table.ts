/**
 * Equal things are one object: a hundred thousand keys have few scopes, plans and words among them, and what follows
 * from one of these is worked out once.
 */

/** Of each kind; a program may make as many as there are keys. Then all are forgotten: whoever has one keeps it. */
const LARGEST_TABLE = 10_000;

/** InternTable hands out one object for each name. */
export class InternTable<Value> {
  private table = new Map<string, Value>();

  /** Gives what has this name; undefined where nobody has kept anything under it, or it is forgotten. */
  get(name: string): Value | undefined {
    return this.table.get(name);
  }

  /** Keeps a value for whoever asks for this name, and gives it back. */
  keep(name: string, value: Value): Value {
    if (this.table.size >= LARGEST_TABLE) this.table = new Map();
    this.table.set(name, value);
    return value;
  }
}
