/**
 * SingleFlight runs work for a name at most once at a time. Callers that arrive while the work runs share its result.
 */
export class SingleFlight {
  private readonly inFlight = new Map<string, Promise<void>>();

  /**
   * Starts the work, or joins running work with this name. The returned promise settles like the work. Failures are not
   * cached.
   */
  run(name: string, work: () => Promise<void>): Promise<void> {
    let running = this.inFlight.get(name);
    if (running === undefined) {
      running = work();
      const forget = (): void => void this.inFlight.delete(name);
      // Forget the work a turn later. Requests that arrived in one socket read with the response can then still join
      // the work.
      running.then(() => setImmediate(forget), forget);
      this.inFlight.set(name, running);
    }
    return running;
  }
}
