/** SingleFlight runs work once at a time per name. Callers that arrive while it runs share its result. */
export class SingleFlight {
  private readonly underWay = new Map<string, Promise<void>>();

  /** Starts the work, or joins running work with this name. Settles like that work. Failures are not cached. */
  run(name: string, work: () => Promise<void>): Promise<void> {
    let running = this.underWay.get(name);
    if (running === undefined) {
      running = work();
      const forget = (): void => void this.underWay.delete(name);
      // Callers whose request arrived in the same socket read as the response still join it.
      running.then(() => setImmediate(forget), forget);
      this.underWay.set(name, running);
    }
    return running;
  }
}
