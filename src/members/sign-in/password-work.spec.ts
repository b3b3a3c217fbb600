/** The queue for password hashes: two run, twenty wait for at most three seconds, and the rest is refused. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { PasswordWork } from './password-work.js';

/** Tasks that end when the test tells them to. */
class Pieces {
  readonly begun: number[] = [];
  private readonly ends: (() => void)[] = [];

  piece(number: number): () => Promise<number> {
    return async () => {
      this.begun.push(number);
      await new Promise<void>((resolve) => this.ends.push(resolve));
      return number;
    };
  }

  /** Ends the oldest running piece and lets pending callbacks run. */
  async endOne(): Promise<void> {
    this.ends.shift()?.();
    await jest.advanceTimersByTimeAsync(0);
  }
}

describe('the password hash queue', () => {
  let work: PasswordWork;
  let pieces: Pieces;
  beforeEach(() => {
    jest.useFakeTimers();
    work = new PasswordWork();
    pieces = new Pieces();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('runs two tasks at once; further ones wait in order', async () => {
    const results = [1, 2, 3, 4].map((number) => work.run(pieces.piece(number)));
    await jest.advanceTimersByTimeAsync(0);
    expect(pieces.begun).toEqual([1, 2]);
    await pieces.endOne();
    expect(pieces.begun).toEqual([1, 2, 3]);
    for (let piece = 0; piece < 3; piece++) await pieces.endOne();
    expect(await Promise.all(results)).toEqual([1, 2, 3, 4]);
  });

  it('refuses the twenty-third task at once, and none before it', async () => {
    const results = Array.from({ length: 22 }, (_, number) => work.run(pieces.piece(number)));
    await expect(work.run(pieces.piece(22))).rejects.toMatchObject({
      code: 'sign_in_busy',
      status: 503,
      options: { headers: ['Retry-After', '2'] },
    });
    for (let piece = 0; piece < 22; piece++) await pieces.endOne();
    expect(await Promise.all(results)).toHaveLength(22);
    expect(pieces.begun).not.toContain(22);
  });

  it('refuses a task after three seconds in the queue, and then never starts it', async () => {
    const first = [work.run(pieces.piece(1)), work.run(pieces.piece(2))];
    const late = work.run(pieces.piece(3)).catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(2_999);
    expect(work.waitingCount).toBe(1);
    await jest.advanceTimersByTimeAsync(1);
    expect(await late).toMatchObject({ code: 'sign_in_busy' });
    expect(work.waitingCount).toBe(0);
    await pieces.endOne();
    await pieces.endOne();
    await Promise.all(first);
    expect(pieces.begun).toEqual([1, 2]);
  });

  it('continues after a failed task', async () => {
    const failing = async () => await Promise.reject<number>(new Error('no memory'));
    for (let piece = 0; piece < 5; piece++) await expect(work.run(failing)).rejects.toThrow('no memory');
    const next = work.run(pieces.piece(1));
    await pieces.endOne();
    expect(await next).toBe(1);
  });
});
