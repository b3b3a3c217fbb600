/**
 * Alert in the edit dialog of a key after the API rejected an edit, because someone else had changed the key. The alert
 * lists the changed fields, who changed them and when.
 */
import { Alert, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import type { ApiProblem } from '../api/problem.js';
import { useActorLabel, useFieldLabel } from '../words/fields.js';
import { useAccount } from '../session/accounts.js';
import { LIMIT_PERIODS } from '../words/limits.js';
import { useProblemText } from '../words/problems.js';
import { Ago, useFormats } from '../words/times.js';
import type { Key } from './keys.js';
import { useScopeLabels } from './scopes.js';
import { useStatusLabels } from './status.js';

interface EditConflictProps {
  readonly error: ApiProblem;
  /** Current version of the key, which the panel read after the conflict. */
  readonly now: Key;
}

export function EditConflict({ error, now }: EditConflictProps) {
  const { time_zone: timeZone } = useAccount();
  const field = useFieldLabel();
  const actor = useActorLabel();
  const value = useValueText();
  const { title } = useProblemText()(error);
  return (
    <Alert color="orange" variant="light" title={title} role="alert">
      <Stack gap={6}>
        {error.fields.map(({ field: name, changedBy, changedAt }) => (
          <Text key={name} size="sm">
            {field(name)}: <b className="name">{value(now, name)}</b>{' '}
            <Text span inherit c="dimmed">
              <span className="name">{actor(changedBy ?? '')}</span>{' '}
              {changedAt !== undefined && <Ago at={changedAt} timeZone={timeZone} />}
            </Text>
          </Text>
        ))}
        <Text size="sm">
          <Trans>Use the latest version, or overwrite it with yours.</Trans>
        </Text>
      </Stack>
    </Alert>
  );
}

/** Returns a function that formats the value of a key field. `field` is the name of the field in the API. */
function useValueText(): (key: Key, field: string) => string {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const { date, number } = useFormats(timeZone);
  const scopes = useScopeLabels();
  const statuses = useStatusLabels();
  const limit = (value: number | null | undefined): string =>
    value === undefined ? t`plan default` : value === null ? t`none` : number(value);
  return (key, field) => {
    switch (field) {
      case 'name':
        return key.name;
      case 'scopes':
        return key.scopes.map(scopes.short).join(' · ');
      case 'status':
        return statuses[key.status];
      case 'expires_at':
        return key.expires_at === null ? t`No expiration` : date(key.expires_at);
      case 'allowed_ips':
        return key.allowed_ips.length === 0 ? t`From anywhere` : key.allowed_ips.join(', ');
      case 'limits':
        return LIMIT_PERIODS.map((period) => limit(key.limits?.[period])).join(' / ');
      default:
        return key.hint;
    }
  };
}
