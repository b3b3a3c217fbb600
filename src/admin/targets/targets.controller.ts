/** Lists every backend target with its state on each known gateway, for operators. */
import { Controller, Inject } from '@nestjs/common';
import { z } from 'zod';
import type { NodeTarget, TargetOnNode } from '../../nodes/node-targets.js';
import { STATES, type MergedTargetStatus } from '../../proxy/targets/target-status.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { ADMIN_DEPENDENCIES, type AdminDependencies } from '../request/admin-dependencies.js';
import { countField, timeField } from '../openapi/fields.js';
import { listSchema, type ListBody } from '../request/list.js';
import { Operation } from '../openapi/operation-decorator.js';

const stateSchema = z.enum(STATES);
/** Schemas of the state of a target, on one gateway or over all gateways. */
const statusFields = {
  processes: z.object({ healthy: countField, failing: countField, ejected: countField, unhealthy: countField }),
  in_flight: countField.meta({ description: 'Requests in flight.' }),
  ejected_until: timeField.nullable(),
  last_failure: z
    .object({
      at: timeField,
      outcome: z.string().max(100).meta({ description: 'As in `trailgate_upstream_target_calls_total`.' }),
      backend_status: z.int().min(100).max(599).nullable(),
    })
    .nullable(),
};

const targetOnNodeSchema = z
  .object({
    node: z.string().max(300).meta({ description: 'Host and port of the gateway.' }),
    age_seconds: z
      .number()
      .min(0)
      .meta({
        description:
          'Age of the report in seconds. Gateways report every two seconds. Those without a report for a ' +
          'minute are omitted.',
      }),
    state: stateSchema.meta({ description: 'With `--workers`, the worst state over all processes.' }),
    ...statusFields,
  })
  .meta({ id: 'TargetOnNode' });

const targetSchema = z
  .object({
    service: z.string().max(100),
    target: z.string().max(2_048).meta({ description: 'Configured origin and path.' }),
    address: z
      .string()
      .max(45)
      .nullable()
      .meta({ description: 'Resolved addresses; null: not a host name, or not resolved yet.' }),
    state: stateSchema.meta({
      description:
        '`failing`: in service, but the last calls failed. `ejected`: removed after too many failures. ' +
        '`unhealthy`: fails its health check. The worst state over all gateways.',
    }),
    ...statusFields,
    processes: statusFields.processes.meta({
      description: 'Number of processes of all gateways by state. With `--workers`, each process counts.',
    }),
    nodes: z.array(targetOnNodeSchema).meta({ description: 'State as each gateway reports it.' }),
  })
  .meta({ id: 'Target' });

const targetListSchema = listSchema('TargetList', targetSchema, false);

type TargetResource = z.output<typeof targetSchema>;
type StatusFields = Pick<TargetResource, 'state' | 'processes' | 'in_flight' | 'ejected_until' | 'last_failure'>;

@Controller()
export class TargetsController {
  constructor(@Inject(ADMIN_DEPENDENCIES) private readonly deps: AdminDependencies) {}

  @Operation('listTargets', targetListSchema)
  list(): ListBody<TargetResource> {
    return { data: this.deps.targets().map(targetResource), has_more: false, next_cursor: null };
  }
}

function targetResource(row: NodeTarget): TargetResource {
  const { service, target, address, nodes } = row;
  return { service, target, address, ...statusResource(row), nodes: nodes.map(targetOnNode) };
}

function targetOnNode({ node, ageMs, status }: TargetOnNode): TargetResource['nodes'][number] {
  return { node, age_seconds: Math.round(ageMs / 100) / 10, ...statusResource(status) };
}

function statusResource({ state, processes, inFlight, ejectedUntilMs, lastFailure }: MergedTargetStatus): StatusFields {
  const time = (ms: number): string => formatWithOffset(ms, 'UTC');
  return {
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
