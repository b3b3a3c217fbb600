/** Where requests go, as this process or its workers see it: every target of every service with its state. */
import { Controller, Get, Inject } from '@nestjs/common';
import { z } from 'zod';
import { formatWithOffset } from '../../rfc3339.js';
import type { MergedTargetStatus } from '../../proxy/target-status.js';
import { ADMIN_DEPENDENCIES, type AdminDependencies } from '../admin-dependencies.js';
import { listSchema, type ListBody } from '../list.js';
import { Documented } from '../openapi/documented.js';

const targetSchema = z
  .object({
    service: z.string(),
    target: z.string().meta({ description: 'Origin and path, as they are configured.' }),
    address: z
      .string()
      .nullable()
      .meta({ description: 'Where its name leads to; null: it is no name, or has not been resolved yet.' }),
    state: z.enum(['healthy', 'ejected', 'unhealthy']).meta({
      description:
        '`ejected`: calls to it failed in a row. `unhealthy`: its health check fails. With `--workers` the worst of what they see.',
    }),
    processes: z.object({ healthy: z.int(), ejected: z.int(), unhealthy: z.int() }).meta({
      description: 'How many processes of this gateway see it in which state: with `--workers` each for itself.',
    }),
    in_flight: z.int().meta({ description: 'Requests that are under way there.' }),
    ejected_until: z.string().nullable(),
    last_failure: z
      .object({
        at: z.string(),
        outcome: z.string().meta({ description: 'As in `trailgate_upstream_target_calls_total`.' }),
        backend_status: z.int().nullable(),
      })
      .nullable(),
  })
  .meta({ id: 'Target' });

const targetListSchema = listSchema('TargetList', targetSchema);

type TargetResource = z.output<typeof targetSchema>;

@Controller('admin/v1/targets')
export class TargetsController {
  constructor(@Inject(ADMIN_DEPENDENCIES) private readonly deps: AdminDependencies) {}

  @Get()
  @Documented({
    id: 'listTargets',
    summary:
      'List the targets of the services with their state, as the gateway in this process or its workers see them',
    response: targetListSchema,
  })
  list(): ListBody<TargetResource> {
    return { data: this.deps.targets().map(targetResource), has_more: false, next_cursor: null };
  }
}

function targetResource(status: MergedTargetStatus): TargetResource {
  const { service, target, address, state, processes, inFlight, ejectedUntilMs, lastFailure } = status;
  const time = (ms: number): string => formatWithOffset(ms, 'UTC');
  return {
    service,
    target,
    address,
    state,
    processes,
    in_flight: inFlight,
    ejected_until: ejectedUntilMs === null ? null : time(ejectedUntilMs),
    last_failure:
      lastFailure === null
        ? null
        : {
            at: time(lastFailure.atMs),
            outcome: lastFailure.outcome,
            backend_status: lastFailure.status === 0 ? null : lastFailure.status,
          },
  };
}
