/**
 * Warning in the pause and revoke dialogs of a key. The warning lists the operations that used the key since yesterday,
 * because they would break.
 */
import { Alert, Stack, Text } from '@mantine/core';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Failure } from '../words/failure.js';
import { useFormats } from '../words/times.js';
import { useImpact } from './keys.js';

/** Maximum number of operations to list. The total also includes the operations that are not listed. */
const MAX_NAMED = 5;

interface ImpactProps {
  readonly id: string;
  /** Text to show above the error box if the recent usage could not be loaded. */
  readonly unread: ReactNode;
}

/** Impact shows how many requests of the key were admitted yesterday and today, in total and by operation. */
export function Impact({ id, unread }: ImpactProps) {
  const { t } = useLingui();
  const { number } = useFormats();
  const { data, error, refetch } = useImpact(id, true);
  if (data === undefined)
    return error === null ? null : (
      <Stack gap="xs">
        <Text size="sm">{unread}</Text>
        <Failure error={error} again={() => void refetch()} />
      </Stack>
    );
  const { requests, operations } = data.last_day;
  if (requests === 0)
    return (
      <Text size="sm" c="dimmed">
        <Trans>No requests since yesterday.</Trans>
      </Text>
    );
  return (
    <Alert color="orange" variant="light" title={t`What will break`}>
      <Text size="sm">
        <Plural value={requests} one="# request since yesterday:" other="# requests since yesterday:" />
      </Text>
      {operations.slice(0, MAX_NAMED).map((each) => (
        <Text key={each.operation} size="sm" className="name">
          {each.operation}: {number(each.requests)}
        </Text>
      ))}
    </Alert>
  );
}
