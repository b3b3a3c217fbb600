/** Lists the configured plans with their limits, for every authenticated caller. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { Catalogue, type NamedPlan } from '../../accounts/catalogue.js';
import { perPeriod } from '../../platform/quotas/windows.js';
import { countField } from '../openapi/fields.js';
import { listSchema, type ListBody } from '../request/list.js';
import { Operation } from '../openapi/operation-decorator.js';

const limit = countField.nullable().meta({ description: 'Maximum requests in the window; null: no limit.' });
const windows = z.object(perPeriod(() => limit));

const planSchema = z
  .object({
    name: z.string().max(100),
    key: windows.meta({ description: 'Limits of each API key.' }),
    account: windows.meta({ description: 'Limits of the account over all its keys.' }),
    on_redis_loss: z.enum(['local', 'open', 'closed']),
    charge: z.enum(['all', 'successes']).meta({
      description: '`successes`: responses of 400 or above are free; `all`: only 502, 503 and 504 are free.',
    }),
  })
  .meta({ id: 'Plan' });

const planListSchema = listSchema('PlanList', planSchema, false);

type PlanResource = z.output<typeof planSchema>;

@Controller()
export class PlansController {
  constructor(private readonly catalogue: Catalogue) {}

  @Operation('listPlans', planListSchema)
  list(): ListBody<PlanResource> {
    return { data: this.catalogue.plans().map(planResource), has_more: false, next_cursor: null };
  }
}

function planResource({ name, limits }: NamedPlan): PlanResource {
  const windowsOf = (limits: NamedPlan['limits']['key']): PlanResource['key'] =>
    perPeriod((period) => limits[period] ?? null);
  return {
    name,
    key: windowsOf(limits.key),
    account: windowsOf(limits.account),
    on_redis_loss: limits.onRedisLoss,
    charge: limits.charge,
  };
}
