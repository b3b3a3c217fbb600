/**
 * Reading is a running read that callers can share. A caller that arrives during a read shares the next one, so that no
 * result is older than its request.
 */
interface Reading<T> {
  readonly running: Promise<T>;
  next: Promise<T> | undefined;
}

/** SharedNext shares one read among all callers that ask while another one runs. */
export class SharedRead<T> {
  private readonly readings = new Map<string, Reading<T>>();

  /** Reads, or shares the next read of this name. Settles like that read. */
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
