/** Progress bar that shows how much of its monthly limit a key has used. */
import { Box, Group, Progress, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useFormats } from '../words/times.js';

interface MonthBarProps {
  readonly used: number;
  /**
   * Monthly limit of the key, in requests. Null if the key has no own limit. The component then shows only the usage.
   */
  readonly limit: number | null;
}

/** Used share of the limit (0 to 1) at which the bar turns orange. */
const WARNING_SHARE = 0.8;

export function MonthBar({ used, limit }: MonthBarProps) {
  const { t } = useLingui();
  const { number } = useFormats();
  if (limit === null) return <Text size="sm">{number(used)}</Text>;
  const share = limit === 0 ? 1 : Math.min(1, used / limit);
  const color = share >= 1 ? 'red' : share >= WARNING_SHARE ? 'orange' : 'river';
  return (
    <Box maw={160}>
      <Group gap={4} wrap="nowrap" pb={4}>
        <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
          <Trans>
            {number(used)} of {number(limit)}
          </Trans>
        </Text>
      </Group>
      <Progress
        value={share * 100}
        color={color}
        size="sm"
        radius="xl"
        aria-label={t`Share of the monthly limit used`}
      />
    </Box>
  );
}
