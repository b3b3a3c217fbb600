/**
 * The guards of `GatewayController` and its handler behind them, in the order that stands there: what Nest's router would do with eight
 * async functions. A request takes one object here, and no promise where a guard answers at once or by callback.
 */
import type { CanActivate, INestApplication, Type } from '@nestjs/common';
import { GUARDS_METADATA, INTERCEPTORS_METADATA, PIPES_METADATA } from '@nestjs/common/constants.js';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { Problem } from '../../problems/errors.js';
import type { Waiting } from '../../platform/waiting.js';
import { callbackGuard, type CallbackGuard } from './callback-guard.js';
import type { ErrorFilter } from '../request/error.filter.js';
import type { Exchange, GatewayReply, GatewayRequest } from '../request/exchange.js';
import { GatewayController } from './gateway.controller.js';

/** What a handler says to Fastify: nobody listens. */
const NO_REPLY = { hijack: () => undefined } as unknown as GatewayReply;
const NO_ARGUMENTS: unknown[] = [];

export class GuardChain {
  private readonly guards: readonly CallbackGuard[];
  private readonly controller: GatewayController;

  /** @throws where the controller asks Nest for more than guards, which would be passed over here. */
  constructor(
    application: INestApplication,
    private readonly filter: ErrorFilter,
  ) {
    const handler = GatewayController.prototype.forward;
    for (const asked of [INTERCEPTORS_METADATA, PIPES_METADATA]) {
      if (Reflect.hasMetadata(asked, GatewayController) || Reflect.hasMetadata(asked, handler)) {
        throw new Error(`GatewayController has ${asked}, which guard-chain.ts does not run`);
      }
    }
    const guards = Reflect.getMetadata(GUARDS_METADATA, GatewayController) as Type<CanActivate>[];
    this.guards = guards.map((guard) => callbackGuard(application.get(guard, { strict: false })));
    this.controller = application.get(GatewayController, { strict: false });
  }

  /** Leads a request through. Whoever says no, or throws: it is answered. */
  begin(exchange: Exchange): void {
    this.goOn(new Passage(this, exchange));
  }

  /** The guards from the next one on, and the handler behind the last of them. */
  private goOn(passage: Passage): void {
    const { guards } = this;
    const { exchange } = passage;
    try {
      while (passage.next < guards.length) {
        const isAllowed = guards[passage.next++]!.ask(passage, passage);
        if (isAllowed === undefined) return;
        if (!isAllowed) {
          this.refuse(whyNot(exchange), exchange);
          return;
        }
      }
      this.controller.forward(passage as unknown as GatewayRequest, NO_REPLY);
    } catch (error) {
      this.refuse(error, exchange);
    }
  }

  /** A guard has what it let a request wait for. */
  answered(passage: Passage, answer: unknown): void {
    const { exchange } = passage;
    let isAllowed: boolean;
    try {
      isAllowed = this.guards[passage.next - 1]!.conclude(passage, answer);
    } catch (error) {
      this.refuse(error, exchange);
      return;
    }
    if (isAllowed) this.goOn(passage);
    else this.refuse(whyNot(exchange), exchange);
  }

  refuse(error: unknown, exchange: Exchange): void {
    this.filter.answer(error, exchange);
  }
}

/**
 * A request among the guards: the context in which they are asked, and who waits for those that answer later. It is the request in that
 * context as well, of which they look at nothing but the exchange.
 */
class Passage extends ExecutionContextHost implements Waiting<unknown> {
  /** Which guard is asked next. */
  next = 0;

  constructor(
    private readonly chain: GuardChain,
    readonly exchange: Exchange,
  ) {
    super(NO_ARGUMENTS, GatewayController, GatewayController.prototype.forward);
  }

  override getArgs<T extends unknown[]>(): T {
    return [this, NO_REPLY] as unknown[] as T;
  }

  override getArgByIndex<T>(index: number): T {
    return (index === 0 ? this : this.getArgs()[index]) as T;
  }

  answered(answer: unknown): void {
    this.chain.answered(this, answer);
  }

  failed(error: unknown): void {
    this.chain.refuse(error, this.exchange);
  }
}

/** Why a guard said no: it says so itself, or it stands in the wrong place. */
function whyNot({ refusal }: Exchange): Problem {
  return refusal ?? new Problem('internal_error');
}
