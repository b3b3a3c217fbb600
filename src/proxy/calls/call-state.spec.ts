/** Exactly the documented state transitions are possible. */
import { describe, expect, it } from '@jest/globals';
import { CALL_STATES, checkTransition, type CallState } from './call-state.js';

const TRANSITIONS: Readonly<Record<(typeof CALL_STATES)[number], readonly (typeof CALL_STATES)[number][]>> = {
  waiting: ['connecting', 'aborting', 'ended'],
  connecting: ['connecting', 'sent', 'aborting', 'ended'],
  sent: ['connecting', 'announced', 'held', 'failing', 'aborting', 'ended'],
  announced: ['held', 'failing', 'aborting', 'ended'],
  held: ['streaming', 'aborting', 'ended'],
  failing: ['aborting', 'ended'],
  streaming: ['stalled', 'aborting', 'ended'],
  stalled: ['streaming', 'aborting', 'ended'],
  aborting: ['connecting', 'ended'],
  ended: [],
};
const PAIRS = CALL_STATES.flatMap((from) => CALL_STATES.map((to) => [from, to] as const));
const canGo = (from: keyof typeof TRANSITIONS, to: keyof typeof TRANSITIONS) => TRANSITIONS[from].includes(to);
const step = (from: keyof typeof TRANSITIONS, to: keyof typeof TRANSITIONS) =>
  checkTransition(CALL_STATES.indexOf(from) as CallState, CALL_STATES.indexOf(to) as CallState);

describe('a call', () => {
  it.each(PAIRS.filter(([from, to]) => canGo(from, to)))('may go from %s to %s', (from, to) => {
    expect(CALL_STATES[step(from, to)]).toBe(to);
  });

  it.each(PAIRS.filter(([from, to]) => !canGo(from, to)))('cannot go from %s to %s', (from, to) => {
    expect(() => step(from, to)).toThrow(`from ${from} to ${to}`);
  });

  it('can end from every state, and can be sent again only before a response has begun', () => {
    const others = CALL_STATES.filter((state) => state !== 'ended');
    expect(others.filter((state) => !canGo(state, 'ended'))).toEqual([]);
    expect(others.filter((state) => canGo(state, 'connecting'))).toEqual(['waiting', 'connecting', 'sent', 'aborting']);
  });
});
