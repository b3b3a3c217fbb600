/**
 * Readings that many want at once: who comes while one is under way shares the next one, so that nobody gets one from
 * before he asked.
 */
interface Reading<T> {
  readonly running: Promise<T>;
  next: Promise<T> | undefined;
}

/** SharedNext shares a reading among those that ask while another one is under way. */
export class SharedNext<T> {
  private readonly readings = new Map<string, Reading<T>>();

  /** Reads, or shares the next reading of this name. Settles as that one does. */
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
