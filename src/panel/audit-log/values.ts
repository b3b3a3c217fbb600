/**
 * Formats the values of fields in audit entries, such as statuses, roles, times, limits and lists, in the language of
 * the page.
 */
import { useLingui } from '@lingui/react/macro';
import { useScopeLabels } from '../api-keys/scopes.js';
import { useStatusLabels } from '../api-keys/status.js';
import { useRoleLabels } from '../members/roles.js';
import { useDeliveryLabels } from '../webhooks/webhook-labels.js';
import { useAccount } from '../session/accounts.js';
import { LIMIT_PERIODS, useLimitLabels } from '../words/limits.js';
import { LANGUAGES } from '../words/locale.js';
import { useFormats } from '../words/times.js';

const MS_IN_SECOND = 1_000;

type Words = Readonly<Record<string, string>>;

const textsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : [String(value)]);

/**
 * Returns a function that formats the value of a field. `field` is the name of the field in the API. Unknown fields are
 * shown as text or JSON.
 */
export function useValueText(): (field: string, value: unknown) => string {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const { time, number } = useFormats(timeZone);
  const scopes = useScopeLabels();
  const limitWords = useLimitLabels();
  const statuses: Words = {
    ...useStatusLabels(),
    ...useDeliveryLabels(),
    enabled: t({ message: 'Active', context: 'an endpoint' }),
    disabled: t`Disabled`,
    suspended: t`Suspended`,
    open: t`Open`,
  };
  const roles: Words = useRoleLabels();
  const environments: Words = { live: t`Live`, test: t`Test` };
  const reasons: Words = {
    operator: t`By the operator`,
    failing: t`Failed for five days`,
    gone: t`410 Gone response`,
  };
  const causes: Words = {
    creator_removed: t`Its creator was removed from the account`,
    creator_left: t`Its creator left the account`,
    creator_role_changed: t`Its creator has another role`,
    creator_disabled: t`Its creator was disabled`,
    creator_no_longer_operator: t`Its creator is no longer an operator`,
    creator_forgotten: t`The data of its creator was erased`,
  };
  const limits = (value: Readonly<Record<string, unknown>>): string => {
    const texts = LIMIT_PERIODS.map((period) => {
      const limit = value[period];
      const text = typeof limit === 'number' ? number(limit) : limit === null ? t`none` : t`plan default`;
      return `${text} ${limitWords[period].per}`;
    });
    return texts.join(', ');
  };
  /** Texts for null, for a missing value and for an empty text, by field. Other fields show a dash. */
  const nullWords: Words = {
    expires_at: t`No expiration`,
    limits: t`plan default`,
    retry_schedule: t`Default`,
    rate_per_second: t`Default`,
    concurrency: t`Default`,
    timeout_ms: t`Default`,
    locale: t`Browser default`,
  };
  /** Texts for an empty list, by field. Other fields show a dash. */
  const emptyWords: Words = { allowed_ips: t`From anywhere`, event_types: t`All events`, retry_schedule: t`Never` };
  return (field, value) => {
    if (value === null || value === undefined || value === '') return nullWords[field] ?? '–';
    if (typeof value === 'boolean') return value ? t`Yes` : t`No`;
    if (Array.isArray(value) && value.length === 0) return emptyWords[field] ?? '–';
    switch (field) {
      case 'status':
        return statuses[String(value)] ?? String(value);
      case 'role':
        return roles[String(value)] ?? String(value);
      case 'environment':
        return environments[String(value)] ?? String(value);
      case 'disabled_reason':
        return reasons[String(value)] ?? String(value);
      case 'cause':
        return causes[String(value)] ?? String(value);
      case 'locale':
        return (LANGUAGES as Words)[String(value)] ?? String(value);
      case 'expires_at':
      case 'previous_secret_expires_at':
      case 'previous_secrets_expire_at':
        return time(String(value));
      case 'scopes':
        return textsOf(value).map(scopes.short).join(' · ');
      case 'limits':
        return limits(value as Readonly<Record<string, unknown>>);
      case 'retry_schedule':
        return textsOf(value)
          .map((seconds) => `${seconds} s`)
          .join(', ');
      case 'timeout_ms':
        return number(Number(value) / MS_IN_SECOND);
      default:
        if (typeof value === 'number') return number(value);
        return typeof value === 'object' && !Array.isArray(value) ? JSON.stringify(value) : textsOf(value).join(', ');
    }
  };
}
