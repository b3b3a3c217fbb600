/** Labels of API fields, and names of the actors who changed them, in the language of the page. */
import { useLingui } from '@lingui/react/macro';

/**
 * Returns a function that returns the label of an API field. For an unknown field, that function returns the name of
 * the field.
 */
export function useFieldLabel(): (field: string) => string {
  const { t } = useLingui();
  const words: Readonly<Record<string, string>> = {
    name: t`Name`,
    scopes: t`Permissions`,
    status: t`Status`,
    expires_at: t`Expiration`,
    allowed_ips: t`Addresses`,
    limits: t`Key limits`,
    plan: t`Plan`,
    time_zone: t`Time zone`,
    billing_day: t`First day of the month`,
    role: t`Role`,
    environment: t`Environment`,
    email: t`Email`,
    label: t`User`,
    amount: t`Amount`,
    used: t`Requests used`,
    granted: t`Added requests`,
    reason: t`Reason`,
    disabled_reason: t`Reason`,
    cause: t`Reason`,
    previous_secret_expires_at: t`Previous secret expires`,
    previous_secrets_expire_at: t`Previous secret expires`,
    retry_schedule: t`Retries`,
    rate_per_second: t`Max per second`,
    concurrency: t`Max concurrent`,
    timeout_ms: t`Timeout (seconds)`,
    is_operator: t`Operator`,
    locale: t`Language`,
    hint: t`Secret`,
    url: t`URL`,
    description: t`Description`,
    event_types: t`Events to send`,
    ordered: t`Ordered delivery`,
    external_id: t`External ID`,
    metadata: t`Metadata`,
  };
  return (field) => words[field] ?? field;
}

/**
 * Returns a function that returns the name of an actor for whom the API sent no name. For an unknown actor, that
 * function returns the ID.
 */
export function useActorLabel(): (actor: string) => string {
  const { t } = useLingui();
  const words: Readonly<Record<string, string>> = {
    operator: t`Operator`,
    system: t`Trailgate`,
    nobody: t`Not signed in`,
  };
  return (actor) => {
    if (actor.startsWith('portal:')) return t`Portal user`;
    // The API sends no name for members whose data was erased. The member ID would not help readers.
    if (actor.startsWith('mem_')) return t`Removed member`;
    return words[actor] ?? actor;
  };
}
