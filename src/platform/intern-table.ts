/**
 * Shares equal objects, to save memory and repeated computation. A hundred thousand keys have only a few different sets
 * of scopes and plans.
 */

/**
 * Maximum number of entries. Customers can create as many different values as they have keys, so a full table is
 * cleared.
 */
const LARGEST_TABLE = 10_000;

export class InternTable<Value> {
  private table = new Map<string, Value>();

  /** Returns the object with this name. Undefined if there is none, or if the table was cleared since. */
  get(name: string): Value | undefined {
    return this.table.get(name);
  }

  /** Stores an object under a name, and returns it. Clears a full table first. */
  keep(name: string, value: Value): Value {
    if (this.table.size >= LARGEST_TABLE) this.table = new Map();
    this.table.set(name, value);
    return value;
  }
}
