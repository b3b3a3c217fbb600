/** An explanation as the admin API shows it. */
import { z } from 'zod';
import { grantedIn, type LimitChanges } from '../../quotas/effective-limits.js';
import { limitedWindows, remaining } from '../../quotas/headers.js';
import { ACCOUNT_MONTH, KEY_MONTH, POLICY_NAMES, policyNames } from '../../quotas/policies.js';
import type { Preview } from '../../quotas/preview.js';
import { formatWithOffset } from '../../rfc3339.js';
import type { Explanation } from './explainer.js';

const policy = z.enum(['key-minute', 'account-minute', 'account-month', 'key-month']);

const limit = z.object({
  policy,
  limit: z.int(),
  source: z
    .enum(['plan', 'override'])
    .meta({ description: 'Whether the plan says it, or the key has a limit of its own.' }),
  granted: z.int().meta({ description: 'What of the limit has been granted until the month ends.' }),
  used: z.int(),
  remaining: z.int(),
  resets_at: z.iso.datetime({ offset: true }),
  refuses: z.boolean().meta({ description: 'Whether it has no room for the request.' }),
});

export const explanationSchema = z
  .object({
    api_key_id: z.string(),
    account_id: z.string(),
    plan: z.string(),
    operation: z
      .object({
        id: z.string(),
        method: z.string(),
        path: z.string(),
        service: z.string(),
        scopes: z.array(z.string()),
      })
      .nullable()
      .meta({ description: 'Null where the request finds none, and for what the gateway answers itself.' }),
    cost: z.int(),
    charge: z.enum(['all', 'successes']).nullable(),
    on_redis_loss: z.enum(['local', 'open', 'closed']).nullable(),
    limits: z.array(limit),
    shadow: z.array(limit).meta({ description: 'The shadow limits of the plan: they refuse nothing.' }),
    answer: z.object({
      admitted: z.boolean().meta({ description: 'True: the backend answers, or the gateway itself.' }),
      status: z.int().nullable().meta({ description: 'Null where it is admitted: the backend decides.' }),
      code: z.string().nullable(),
      detail: z.string().nullable(),
      violated_policies: z.array(policy),
      retry_after_seconds: z.int().nullable().meta({
        description:
          'What `Retry-After` would say; null where there is none: no limit refuses, or waiting would take longer than an hour.',
      }),
    }),
  })
  .meta({ id: 'Explanation' });

export type ExplanationResource = z.output<typeof explanationSchema>;
type LimitResource = z.output<typeof limit>;

/** @param basePath where the operations begin. */
export function explanationResource(explanation: Explanation, basePath: string): ExplanationResource {
  const { record, known, operation, live, shadow } = explanation;
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
            path: basePath + operation.template,
            service: operation.service,
            scopes: [...operation.scopes],
          },
    cost: operation?.cost ?? 0,
    charge: known.subject?.charge ?? null,
    on_redis_loss: known.subject?.onStoreLoss ?? null,
    limits: limitResources(live, limitChanges, timeZone),
    shadow: limitResources(shadow, limitChanges, timeZone),
    answer: answerOf(explanation),
  };
}

function answerOf({ problem, live }: Explanation): ExplanationResource['answer'] {
  if (problem === undefined) {
    return { admitted: true, status: null, code: null, detail: null, violated_policies: [], retry_after_seconds: null };
  }
  const isQuota = problem.code === 'rate_limited' || problem.code === 'quota_exceeded';
  const decision = isQuota ? live?.decision : undefined;
  return {
    admitted: false,
    status: problem.status,
    code: problem.code,
    detail: problem.options.detail ?? null,
    violated_policies: decision === undefined ? [] : [...policyNames(decision.violated)],
    retry_after_seconds: (decision === undefined ? undefined : problem.options.retryAfter) ?? null,
  };
}

function limitResources(preview: Preview | undefined, changes: LimitChanges, timeZone: string): LimitResource[] {
  if (preview === undefined) return [];
  const { limits, reading, decision } = preview;
  return limitedWindows(limits, reading.used).map((window) => {
    const { of, limit: most, used } = window;
    const bit = POLICY_NAMES.find(([, name]) => name === window.policy)?.[0] ?? 0;
    const isMonth = (bit & (ACCOUNT_MONTH | KEY_MONTH)) !== 0;
    const grant = of === 'key' ? changes.keyGrant : changes.accountGrant;
    const minuteResetMs = of === 'key' ? reading.keyMinuteResetMs : reading.accountMinuteResetMs;
    const resetMs = isMonth ? reading.period.endMs : Math.max(minuteResetMs, reading.nowMs);
    return {
      policy: window.policy as LimitResource['policy'],
      limit: most,
      source: of === 'key' && changes.keyLimits?.[window.window] !== undefined ? 'override' : 'plan',
      granted: isMonth ? grantedIn(grant, reading.period.label) : 0,
      used,
      remaining: remaining(most, used),
      resets_at: formatWithOffset(resetMs, timeZone),
      refuses: (decision.violated & bit) !== 0,
    };
  });
}
