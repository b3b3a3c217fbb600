/** The types of events that may be handed in, each with the check of its data, by the running configuration. */
import { compileDataSchema, type DataCheck } from '../../config/data-schema.js';
import type { EventType } from '../../config/model/schema.js';

/** EventSchemas knows the types, and compiles a schema when the first event of its type comes. */
export class EventSchemas {
  private types: readonly EventType[] | undefined;
  private checks = new Map<string, Promise<DataCheck> | null>();

  constructor(private readonly current: () => readonly EventType[]) {}

  /** The check of a type; null: it takes any object; undefined: there is no such type. */
  async checkOf(type: string): Promise<DataCheck | null | undefined> {
    const types = this.current();
    if (types !== this.types) {
      this.types = types;
      this.checks = new Map();
    }
    const known = this.checks.get(type);
    if (known !== undefined) return known;
    const found = types.find(({ name }) => name === type);
    if (found === undefined) return undefined;
    const check = found.schema === null ? null : compileDataSchema(found.schema);
    this.checks.set(type, check);
    return check;
  }
}
