/** Work that is under way once at a time for each name: who comes meanwhile waits for the same outcome. */
export class SingleFlight {
  private readonly underWay = new Map<string, Promise<void>>();

  /**
   * Starts the work, or joins the one of this name that is under way. Settles as that one does; a failure is not kept.
   */
  run(name: string, work: () => Promise<void>): Promise<void> {
    let running = this.underWay.get(name);
    if (running === undefined) {
      running = work();
      const forget = (): void => void this.underWay.delete(name);
      // What came by the same read of a socket as its response still joins it.
      running.then(() => setImmediate(forget), forget);
      this.underWay.set(name, running);
    }
    return running;
  }
}
