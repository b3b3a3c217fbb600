/**
 * IdleReaper removes idle entries from a map. Each run checks only a part of the map, so that the event loop is not
 * blocked for long.
 */
export class IdleReaper<Value> {
  private entries: Iterator<[string, Value]> | undefined;

  constructor(private readonly map: Map<string, Value>) {}

  /**
   * Checks the next `most` entries, and removes those for which `isRemovable` returns true. After the last entry, the
   * next run starts again with the first entry.
   */
  run(most: number, isRemovable: (value: Value) => boolean): void {
    this.entries ??= this.map.entries();
    for (let checked = 0; checked < most; checked++) {
      const { done, value } = this.entries.next();
      if (done === true) {
        this.entries = undefined;
        return;
      }
      if (isRemovable(value[1])) this.map.delete(value[0]);
    }
  }
}
