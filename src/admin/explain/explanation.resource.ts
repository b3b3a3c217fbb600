/**
 * Defines the explanation resource of the admin API. An explanation previews how the gateway would treat a request
 * with a key: the result of each admission step, the limits and the response.
 */
import type { Operation } from '../../config/model/schema.js';
import { z } from 'zod';
import type { StepPreview } from '../../admission/preview.js';
import { grantedIn, type LimitChanges } from '../../quota/model/effective-limits.js';
import { limitedWindows, remainingQuota, resetMsOf } from '../../quota/model/headers.js';
import type { Preview } from '../../quota/preview.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { countField, idField, policyField as policy, timeField } from '../openapi/fields.js';
import type { Explanation } from './explainer.js';

/** Steps that check the operation. Their verdict is `unknown` if the request matches no operation. */
const OPERATION_STEPS: ReadonlySet<StepPreview['name']> = new Set(['scope', 'quota']);

const step = z.object({
  step: z.enum(['route', 'key', 'scope', 'quota']).meta({
    description: 'Checks in order: operation, key and source address, permissions, limits.',
  }),
  verdict: z.enum(['passes', 'refuses', 'unknown']).meta({
    description: '`unknown` if the request matches no operation to check.',
  }),
  status: z.int().min(400).max(599).nullable(),
  code: z.string().max(100).nullable(),
  detail: z.string().max(8_192).nullable(),
});

const limit = z.object({
  policy,
  limit: countField,
  source: z.enum(['plan', 'override']).meta({ description: 'Whether the limit comes from the plan or the key.' }),
  granted: countField.meta({ description: 'Additional requests granted for this month.' }),
  used: countField,
  remaining: countField,
  resets_at: timeField,
  refuses: z.boolean().meta({ description: 'Whether the window has no room for the request.' }),
});

export const explanationSchema = z
  .object({
    api_key_id: idField('key'),
    account_id: idField('acc'),
    plan: z.string().max(100),
    operation: z
      .object({
        id: z.string().max(200),
        method: z.string().max(20),
        path: z.string().max(2_048),
        service: z.string().max(100),
        hosts: z.array(z.string().max(300)).max(100).meta({
          description: 'Host names under which the operation is served; empty: any.',
        }),
        scopes: z.array(z.string().max(200)).max(100),
      })
      .nullable()
      .meta({ description: 'Null if no operation matches, and for paths that the gateway answers itself.' }),
    cost: countField,
    charge: z.enum(['all', 'successes']).nullable(),
    on_redis_loss: z.enum(['local', 'open', 'closed']).nullable(),
    steps: z.array(step).max(10).meta({
      description: 'Result of every step of the request path in order, including steps after the one that rejects.',
    }),
    limits: z.array(limit).max(4),
    shadow: z.array(limit).max(4).meta({ description: 'Shadow limits of the plan, which never reject requests.' }),
    answer: z.object({
      admitted: z.boolean().meta({ description: 'True if the backend or the gateway itself would respond.' }),
      status: z
        .int()
        .min(400)
        .max(599)
        .nullable()
        .meta({ description: 'Null if admitted: the backend decides the status.' }),
      code: z.string().max(100).nullable(),
      detail: z.string().max(8_192).nullable(),
      violated_policies: z.array(policy).max(4),
      retry_after_seconds: countField.nullable().meta({
        description: 'Value of `Retry-After`; null without one: no limit rejects, or the wait is longer than an hour.',
      }),
    }),
  })
  .meta({ id: 'Explanation' });

export type ExplanationResource = z.output<typeof explanationSchema>;
type LimitResource = z.output<typeof limit>;

/**
 * Returns the API resource of an explanation. Times have the offset of the account's time zone.
 * @param pathOf returns the public path of an operation
 */
export function explanationResource(
  explanation: Explanation,
  pathOf: (operation: Operation) => string,
): ExplanationResource {
  const { record, cachedKey, operation, hosts, live, shadow } = explanation;
  const { timeZone, limitChanges } = record;
  return {
    api_key_id: record.keyId,
    account_id: record.accountId,
    plan: record.plan,
    operation:
      operation === undefined
        ? null
        : {
            id: operation.id,
            method: operation.method,
            path: pathOf(operation),
            service: operation.service,
            hosts: [...hosts],
            scopes: [...operation.scopes],
          },
    cost: operation?.cost ?? 0,
    charge: cachedKey.subject?.charge ?? null,
    on_redis_loss: cachedKey.subject?.onStoreLoss ?? null,
    steps: stepResources(explanation),
    limits: limitResources(live, limitChanges, timeZone),
    shadow: limitResources(shadow, limitChanges, timeZone),
    answer: answerResource(explanation),
  };
}

function stepResources({ steps }: Explanation): ExplanationResource['steps'] {
  const hasNoOperation = steps.some(({ name, problem }) => name === 'route' && problem !== undefined);
  return steps.map(({ name, problem }) => ({
    step: name as ExplanationResource['steps'][number]['step'],
    verdict: problem !== undefined ? 'refuses' : hasNoOperation && OPERATION_STEPS.has(name) ? 'unknown' : 'passes',
    status: problem?.status ?? null,
    code: problem?.code ?? null,
    detail: problem?.options.detail ?? null,
  }));
}

function answerResource({ problem }: Explanation): ExplanationResource['answer'] {
  if (problem === undefined) {
    return { admitted: true, status: null, code: null, detail: null, violated_policies: [], retry_after_seconds: null };
  }
  const { detail = null, violatedPolicies = [], retryAfter = null } = problem.options;
  return {
    admitted: false,
    status: problem.status,
    code: problem.code,
    detail,
    violated_policies: [...violatedPolicies] as LimitResource['policy'][],
    retry_after_seconds: retryAfter,
  };
}

function limitResources(preview: Preview | undefined, changes: LimitChanges, timeZone: string): LimitResource[] {
  if (preview === undefined) return [];
  const { limits, reading, decision } = preview;
  return limitedWindows(limits, reading.used).map(({ window, index, limit: maximum, used }) => {
    const { name, of, period } = window;
    const grant = of === 'key' ? changes.keyGrant : changes.accountGrant;
    const resetMs = Math.max(resetMsOf(window, reading), reading.nowMs);
    return {
      policy: name,
      limit: maximum,
      source: of === 'key' && changes.keyLimits?.[period] !== undefined ? 'override' : 'plan',
      granted: period === 'month' ? grantedIn(grant, reading.period.label) : 0,
      used,
      remaining: remainingQuota(maximum, used),
      resets_at: formatWithOffset(resetMs, timeZone),
      refuses: (decision.violated & (1 << index)) !== 0,
    };
  });
}
