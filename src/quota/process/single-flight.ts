/** SingleFlight runs work at most once at a time per name. Callers that arrive while the work runs share its result. */
export class SingleFlight {
  private readonly inFlight = new Map<string, Promise<void>>();

  /** Starts the work, or joins running work with this name. Settles like that work. Failures are not cached. */
  run(name: string, work: () => Promise<void>): Promise<void> {
    let running = this.inFlight.get(name);
    if (running === undefined) {
      running = work();
      const forget = (): void => void this.inFlight.delete(name);
      // Forget the work a turn later, so that requests that arrived in the same socket read as the response still join
      // it.
      running.then(() => setImmediate(forget), forget);
      this.inFlight.set(name, running);
    }
    return running;
  }
}
