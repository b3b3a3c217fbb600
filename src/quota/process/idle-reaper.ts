/** IdleReaper removes what idles from a map, some of it at a time and off the request path. */
export class IdleReaper<Value> {
  private entries: Iterator<[string, Value]> | undefined;

  constructor(private readonly map: Map<string, Value>) {}

  /**
   * Looks at the next `most` entries, from the first again behind the last one; removes those of which `mayGo` says so.
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
