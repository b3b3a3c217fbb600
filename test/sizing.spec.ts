/** The sizing page matches the model, and the model matches measurements. */
import { readFileSync } from 'node:fs';
import { beforeAll, expect, it } from '@jest/globals';

interface Figures {
  readonly gateway: readonly {
    readonly keys: number;
    readonly us: number;
    readonly rate: number;
    readonly callsPerRequest: number;
    readonly use: number;
  }[];
  readonly script: readonly { readonly inCall: number; readonly us: number }[];
  readonly decisionsPerSecond: number;
}

interface Model {
  measure(): Promise<string>;
  readFigures(): Figures;
  scriptMicroseconds(figures: Figures, inCall: number): number;
  decisionsPerCall(figures: Figures, ratePerProcess: number): number;
  sizeFor(figures: Figures, rate: number, keys: number): Record<'processes' | 'masters' | 'rowsPerSecond', number>;
}

let model: Model;
let figures: Figures;
beforeAll(async () => {
  const file: string = new URL('bench/sizing.mjs', import.meta.url).href;
  model = (await import(file)) as Model;
  figures = model.readFigures();
});

it('docs/sizing.md contains the table that npm run bench:sizing writes', async () => {
  expect(readFileSync('docs/sizing.md', 'utf8')).toContain(await model.measure());
});

it('the model reads the figures of docs/benchmarks.md', () => {
  expect(figures.gateway.map(({ keys }) => keys)).toEqual([1, 100, 1_000, 10_000, 100_000]);
  expect(figures.script.map(({ inCall }) => inCall)).toEqual([1, 16, 64, 256]);
});

it('the model predicts measured rates of one process within 10 %', () => {
  for (const { us, use, rate } of figures.gateway) expect(Math.abs((use * 1e6) / us / rate - 1)).toBeLessThan(0.1);
});

it('the model predicts up to 25 % too few Redis decisions in calls of 64, and never too many', () => {
  const predicted = 1e6 / model.scriptMicroseconds(figures, 64);
  expect(predicted).toBeLessThan(figures.decisionsPerSecond);
  expect(predicted).toBeGreaterThan(figures.decisionsPerSecond * 0.75);
});

it('the model predicts no larger batches than measured, except for the busiest process', () => {
  const usual = figures.gateway.filter(({ use }) => use < 0.9);
  for (const { rate, callsPerRequest } of usual) {
    expect(1 / model.decisionsPerCall(figures, rate)).toBeGreaterThanOrEqual(callsPerRequest);
  }
});

it('the model needs no less of anything for more requests', () => {
  const sizes = [1_000, 10_000, 100_000, 1_000_000].map((rate) => model.sizeFor(figures, rate, 100_000));
  for (const name of ['processes', 'masters', 'rowsPerSecond'] as const) {
    const values = sizes.map((size) => size[name]);
    expect(values).toEqual(values.toSorted((one, other) => one - other));
  }
});
