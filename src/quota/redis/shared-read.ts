/** Reading holds a running read, and the next read if callers wait for a next read. */
interface Reading<T> {
  readonly running: Promise<T>;
  next: Promise<T> | undefined;
}

/**
 * SharedRead shares reads among callers. A caller that arrives during a read waits for the next read, together with
 * other callers. No caller gets a result of a read that began before its call.
 */
export class SharedRead<T> {
  private readonly readings = new Map<string, Reading<T>>();

  /** Starts a read, or waits for the next read with this name. The returned promise settles like that read. */
  read(name: string, work: () => Promise<T>): Promise<T> {
    const current = this.readings.get(name);
    if (current === undefined) return this.start(name, work);
    const startNext = (): Promise<T> => this.start(name, work);
    return (current.next ??= current.running.then(startNext, startNext));
  }

  private start(name: string, work: () => Promise<T>): Promise<T> {
    const reading: Reading<T> = { running: work(), next: undefined };
    this.readings.set(name, reading);
    const end = (): void => {
      if (reading.next === undefined) this.readings.delete(name);
    };
    reading.running.then(end, end);
    return reading.running;
  }
}
