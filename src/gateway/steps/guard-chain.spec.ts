import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { CanActivate, ExecutionContext, INestApplication } from '@nestjs/common';
import { Observable } from 'rxjs';
import { Problem } from '../../problems/errors.js';
import type { Waiting } from '../../platform/waiting.js';
import { ApiKeyGuard } from './api-key.guard.js';
import type { CallbackGuard } from './callback-guard.js';
import type { ErrorFilter } from '../request/error.filter.js';
import type { Exchange, GatewayRequest } from '../request/exchange.js';
import { GatewayController } from './gateway.controller.js';
import { GuardChain } from './guard-chain.js';
import { QuotaGuard } from './quota.guard.js';
import { RouteGuard } from './route.guard.js';
import { ScopeGuard } from './scope.guard.js';

/** A guard of Nest's that answers what the test says. */
class Stub implements CanActivate {
  readonly asked: ExecutionContext[] = [];
  answer: unknown = true;

  canActivate(context: ExecutionContext): boolean {
    this.asked.push(context);
    if (this.answer instanceof Error) throw this.answer;
    return this.answer as boolean;
  }
}

/** One that is answered by callback where the test says undefined, and lets pass whom it is told 1 for. */
class CallbackStub extends Stub implements CallbackGuard<number> {
  waiting: Waiting<number> | undefined;

  ask(context: ExecutionContext, waiting: Waiting<number>): boolean | undefined {
    this.waiting = waiting;
    return this.canActivate(context);
  }

  conclude(context: ExecutionContext, answer: number): boolean {
    if (answer < 0 || context !== this.asked[0]) throw new Error('nothing to conclude');
    return answer === 1;
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('the guards of the controller, asked without a router', () => {
  let guards: { route: Stub; key: Stub; scope: Stub; quota: CallbackStub };
  let forwarded: Exchange[];
  let refused: unknown[];
  let fault: Error | undefined;
  let exchange: Exchange;
  beforeEach(() => {
    guards = { route: new Stub(), key: new Stub(), scope: new Stub(), quota: new CallbackStub() };
    forwarded = [];
    refused = [];
    fault = undefined;
    exchange = { refusal: undefined } as Exchange;
  });

  const begin = (): void => {
    const instances = new Map<unknown, unknown>([
      [RouteGuard, guards.route],
      [ApiKeyGuard, guards.key],
      [ScopeGuard, guards.scope],
      [QuotaGuard, guards.quota],
      [
        GatewayController,
        {
          forward: (request: GatewayRequest) => {
            forwarded.push(request.exchange);
            if (fault !== undefined) throw fault;
          },
        },
      ],
    ]);
    const application = { get: (type: unknown) => instances.get(type) } as INestApplication;
    const filter = { answer: (error: unknown) => void refused.push(error) } as unknown as ErrorFilter;
    new GuardChain(application, filter).begin(exchange);
  };
  const asked = () => Object.values(guards).map((guard) => guard.asked.length);

  it('are asked in their order, once, and the handler behind them is at once', () => {
    const order: string[] = [];
    for (const [name, guard] of Object.entries(guards)) {
      const { asked: contexts } = guard;
      jest.spyOn(contexts, 'push').mockImplementation(() => order.push(name));
    }
    begin();
    expect(order).toEqual(['route', 'key', 'scope', 'quota']);
    expect([forwarded, refused]).toEqual([[exchange], []]);
  });

  it('get the context that Nest would give them', () => {
    begin();
    const [context] = guards.route.asked;
    expect([context?.getClass(), context?.getHandler()]).toEqual([
      GatewayController,
      GatewayController.prototype.forward,
    ]);
    expect(context?.getType()).toBe('http');
    expect(context?.getArgByIndex<GatewayRequest>(0).exchange).toBe(exchange);
    expect(context?.getArgs<[GatewayRequest]>()[0].exchange).toBe(exchange);
    expect(context?.switchToHttp().getRequest<GatewayRequest>().exchange).toBe(exchange);
    expect(context?.switchToHttp().getResponse()).toHaveProperty('hijack');
    expect(context?.getArgByIndex(2)).toBeUndefined();
  });

  it.each([
    ['says no', () => false, 500],
    ['answers with what is neither yes nor no', () => new Observable(), 500],
    ['promises a no', () => Promise.resolve(false), 500],
  ])('end with the one that %s', async (_what, answer, status) => {
    guards.key.answer = answer();
    begin();
    await turn();
    expect([asked(), forwarded]).toEqual([[1, 1, 0, 0], []]);
    expect(refused.map((error) => (error as Problem).status)).toEqual([status]);
  });

  it('say why themselves', () => {
    exchange.refusal = new Problem('insufficient_scope');
    guards.scope.answer = false;
    begin();
    expect(refused).toEqual([exchange.refusal]);
  });

  it('end with the one that throws, or whose promise is rejected', async () => {
    const error = new Error('a fault');
    guards.scope.answer = error;
    begin();
    guards.scope.answer = Promise.reject(error);
    begin();
    await turn();
    expect([refused, forwarded]).toEqual([[error, error], []]);
  });

  it('go on behind one that promises a yes', async () => {
    guards.key.answer = Promise.resolve(true);
    begin();
    expect(asked()).toEqual([1, 1, 0, 0]);
    await turn();
    expect([asked(), forwarded, refused]).toEqual([[1, 1, 1, 1], [exchange], []]);
  });

  describe('with one that answers by callback', () => {
    beforeEach(() => {
      guards.quota.answer = undefined;
      begin();
    });

    it('wait', async () => {
      await turn();
      expect([asked(), forwarded, refused]).toEqual([[1, 1, 1, 1], [], []]);
    });

    it('go on with what it concludes, before the callback returns', () => {
      guards.quota.waiting?.answered(1);
      expect([asked(), forwarded, refused]).toEqual([[1, 1, 1, 1], [exchange], []]);
    });

    it.each([
      ['it concludes a no', (waiting?: Waiting<number>) => waiting?.answered(0), Problem],
      ['it cannot conclude', (waiting?: Waiting<number>) => waiting?.answered(-1), Error],
      ['there is no answer', (waiting?: Waiting<number>) => waiting?.failed(new Error('none')), Error],
    ])('refuse once where %s', (_what, tell, type) => {
      tell(guards.quota.waiting);
      expect([refused, forwarded]).toEqual([[expect.any(type)], []]);
    });

    it('answer with a fault of the handler: whoever calls back learns nothing of it', () => {
      fault = new Error('a fault of the handler');
      expect(() => guards.quota.waiting?.answered(1)).not.toThrow();
      expect([refused, forwarded]).toEqual([[fault], [exchange]]);
    });
  });
});
