/** Steps run in order, once each. Late results need no promise. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ResultReceiver } from '../platform/callbacks.js';
import { Problem } from '../platform/problems/errors.js';
import type { AdmissionRequest } from './admission-request.js';
import type { Step } from './step.js';
import { StepWalk } from './step-walk.js';

/** Step controlled by the test. If undefined, it waits, and passes if the late result is 1. */
class Stub implements Step<number> {
  readonly asked: AdmissionRequest[] = [];
  verdict: boolean | Error | undefined = true;
  waiting: ResultReceiver<number> | undefined;

  constructor(
    private readonly name: string,
    private readonly order: string[],
  ) {}

  check(request: AdmissionRequest, waiting: ResultReceiver<number>): boolean | undefined {
    this.order.push(this.name);
    this.asked.push(request);
    this.waiting = waiting;
    if (this.verdict instanceof Error) throw this.verdict;
    return this.verdict;
  }

  conclude(request: AdmissionRequest, late: number): boolean {
    if (late < 0 || request !== this.asked[0]) throw new Error('nothing to conclude');
    return late === 1;
  }

  preview(): undefined {
    return undefined;
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a step walk', () => {
  let order: string[];
  let steps: { route: Stub; key: Stub; scope: Stub; quota: Stub };
  let admitted: AdmissionRequest[];
  let refused: unknown[];
  let fault: Error | undefined;
  let request: AdmissionRequest;
  beforeEach(() => {
    order = [];
    const stub = (name: string) => new Stub(name, order);
    steps = { route: stub('route'), key: stub('key'), scope: stub('scope'), quota: stub('quota') };
    admitted = [];
    refused = [];
    fault = undefined;
    request = { refusal: undefined } as AdmissionRequest;
  });

  const begin = (): void =>
    new StepWalk(Object.values(steps), {
      admitted: (passed) => {
        admitted.push(passed);
        if (fault !== undefined) throw fault;
      },
      refused: (reason) => void refused.push(reason),
    }).begin(request);

  it('runs the steps once in order, and admits the request synchronously', () => {
    begin();
    expect(order).toEqual(['route', 'key', 'scope', 'quota']);
    expect([admitted, refused]).toEqual([[request], []]);
  });

  it('stops at the step that refuses, with status 500 if the step set no problem', () => {
    steps.key.verdict = false;
    begin();
    expect([order, admitted]).toEqual([['route', 'key'], []]);
    expect(refused.map((reason) => (reason as Problem).status)).toEqual([500]);
  });

  it('refuses with the problem of the step', () => {
    request.refusal = new Problem('insufficient_scope');
    steps.scope.verdict = false;
    begin();
    expect(refused).toEqual([request.refusal]);
  });

  it('refuses with the error that a step throws, and does not admit', () => {
    const error = new Error('a fault');
    steps.scope.verdict = error;
    begin();
    expect([refused, admitted]).toEqual([[error], []]);
  });

  it('refuses with the error that the admitted handler throws', () => {
    fault = new Error('a fault behind the steps');
    begin();
    expect([refused, admitted]).toEqual([[fault], [request]]);
  });

  describe('with an asynchronous step', () => {
    beforeEach(() => {
      steps.key.verdict = undefined;
      begin();
    });

    it('waits for the result', async () => {
      await turn();
      expect([order, admitted, refused]).toEqual([['route', 'key'], [], []]);
    });

    it('continues with the late result before the callback returns', () => {
      steps.key.waiting?.onResult(1);
      expect([order, admitted, refused]).toEqual([['route', 'key', 'scope', 'quota'], [request], []]);
    });

    it.each([
      ['it concludes a no', (waiting?: ResultReceiver<number>) => waiting?.onResult(0), Problem],
      ['it cannot conclude', (waiting?: ResultReceiver<number>) => waiting?.onResult(-1), Error],
      [
        'there is nothing to conclude from',
        (waiting?: ResultReceiver<number>) => waiting?.onError(new Error('none')),
        Error,
      ],
    ])('refuses exactly once when %s', (_what, tell, type) => {
      tell(steps.key.waiting);
      expect([refused, admitted]).toEqual([[expect.any(type)], []]);
    });

    it('refuses if the admitted handler throws, without throwing to the caller of the callback', () => {
      fault = new Error('a fault behind the steps');
      expect(() => steps.key.waiting?.onResult(1)).not.toThrow();
      expect([refused, admitted]).toEqual([[fault], [request]]);
    });
  });
});
