/** IdleReaper removes idle entries from a map, a part of the map per run and outside the request path. */
export class IdleReaper<Value> {
  private entries: Iterator<[string, Value]> | undefined;

  constructor(private readonly map: Map<string, Value>) {}

  /**
   * Checks the next `most` entries and removes those for which `mayGo` returns true. After the last entry it starts
   * again with the first.
   */
  run(most: number, mayGo: (value: Value) => boolean): void {
    this.entries ??= this.map.entries();
    for (let looked = 0; looked < most; looked++) {
      const { done, value } = this.entries.next();
      if (done === true) {
        this.entries = undefined;
        return;
      }
      if (mayGo(value[1])) this.map.delete(value[0]);
    }
  }
}
