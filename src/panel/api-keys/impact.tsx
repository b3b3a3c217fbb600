/** Shows what breaks when a key is revoked or paused. */
import { Alert, Stack, Text } from '@mantine/core';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Failure } from '../words/failure.js';
import { useFormats } from '../words/times.js';
import { useImpact } from './keys.js';

/** Number of operations to name. The others are counted. */
const NAMED = 5;

interface ImpactProps {
  readonly id: string;
  /** Text to show if the impact could not be read. */
  readonly unread: ReactNode;
}

/** Lists the key's requests since yesterday. */
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
      {operations.slice(0, NAMED).map((each) => (
        <Text key={each.operation} size="sm" className="name">
          {each.operation}: {number(each.requests)}
        </Text>
      ))}
    </Alert>
  );
}
