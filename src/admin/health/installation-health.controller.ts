/**
 * Reports the health of the installation to operators: the readiness checks and every gateway that this process knows.
 */
import { Controller, Inject } from '@nestjs/common';
import { z } from 'zod';
import type { KnownNodeStatus } from '../../nodes/node-status.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { VERSION } from '../../platform/version.js';
import { Operation } from '../openapi/operation-decorator.js';
import { countField, timeField } from '../openapi/fields.js';
import { ADMIN_DEPENDENCIES, type AdminDependencies } from '../request/admin-dependencies.js';

const version = z.string().max(100);
const nodeSchema = z
  .object({
    node: z.string().max(300).meta({ description: 'Host and port of the gateway.' }),
    version: version
      .nullable()
      .meta({ description: 'Version of the program; null if the gateway is too old to report it.' }),
    processes: countField,
    age_seconds: z.number().min(0).meta({ description: 'Age of the report in seconds; see `listTargets`.' }),
    quota_store_lost_since: timeField.nullable().meta({ description: 'Null if the counters are reachable.' }),
  })
  .meta({ id: 'GatewayNode' });

const healthSchema = z
  .object({
    ready: z.boolean().meta({ description: 'Whether the responding process is ready for traffic.' }),
    version: version.meta({ description: 'Version of the responding process.' }),
    database: z.enum(['sqlite', 'postgres']),
    counters: z
      .enum(['process', 'redis'])
      .meta({ description: "Where limits are counted: in the gateway's memory, or shared in Redis." }),
    checks: z
      .array(
        z.object({
          name: z.string().max(100).meta({ description: 'Same checks as in `/readyz`.', example: 'quota_store' }),
          status: z.enum(['pass', 'warn', 'fail']),
          detail: z.string().max(10_000).nullable(),
        }),
      )
      .max(100),
    nodes: z.array(nodeSchema).max(1_000).meta({ description: 'Gateways that reported within the last minute.' }),
  })
  .meta({ id: 'Health' });

type HealthResource = z.output<typeof healthSchema>;

@Controller()
export class InstallationHealthController {
  constructor(@Inject(ADMIN_DEPENDENCIES) private readonly deps: AdminDependencies) {}

  @Operation('getHealth', healthSchema)
  get(): HealthResource {
    const { readiness, gateways, stores } = this.deps;
    const { ready, checks } = readiness();
    return {
      ready,
      version: VERSION,
      ...stores,
      checks: Object.entries(checks).map(([name, { status, detail }]) => ({
        name,
        status: status === 'fail' || status === 'warn' ? status : 'pass',
        detail: detail ?? null,
      })),
      nodes: gateways().map(nodeResource),
    };
  }
}

function nodeResource({ node, version: said, processes, ageMs, quotaStoreLostSinceMs }: KnownNodeStatus) {
  return {
    node,
    version: said,
    processes,
    age_seconds: Math.round(ageMs / 100) / 10,
    quota_store_lost_since: quotaStoreLostSinceMs === null ? null : formatWithOffset(quotaStoreLostSinceMs, 'UTC'),
  };
}
