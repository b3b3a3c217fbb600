/** Cards that show how much of each limit is used. The card of a monthly limit also has a forecast. */
import { Card, Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import { useAccount } from '../session/accounts.js';
import { parsePolicy, useLimitLabels } from '../words/limits.js';
import { useFormats } from '../words/times.js';
import type { Forecast, Usage, UsageWindow } from './usage.js';

export function Windows({ usage }: { readonly usage: Usage }) {
  if (usage.windows.length === 0) return null;
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="lg">
      {usage.windows.map((window) => (
        <Window
          key={window.policy}
          window={window}
          forecast={usage.forecasts?.find(({ policy }) => policy === window.policy)}
        />
      ))}
    </SimpleGrid>
  );
}

/** Used share of the limit (0 to 1) at which the bar turns orange. */
const WARNING_SHARE = 0.8;

interface WindowProps {
  readonly window: UsageWindow;
  readonly forecast: Forecast | undefined;
}

function Window({ window, forecast }: WindowProps) {
  const { time_zone: timeZone } = useAccount();
  const { number, date, relative } = useFormats(timeZone);
  const { period } = parsePolicy(window.policy);
  const share = window.limit === 0 ? 1 : Math.min(1, window.used / window.limit);
  const title = useLimitLabels()[period].now;
  return (
    <Card>
      <Stack gap={8}>
        <Text size="sm" c="dimmed">
          {title}
        </Text>
        <Text fz={28} fw={650} lh={1.1}>
          {number(window.used)}
          <Text span c="dimmed" fz="md" fw={400}>
            {' '}
            <Trans>of {number(window.limit)} requests</Trans>
          </Text>
        </Text>
        <Progress
          value={share * 100}
          size="md"
          radius="xl"
          color={share >= 1 ? 'red' : share >= WARNING_SHARE ? 'orange' : 'river'}
          aria-label={title}
        />
        <Text size="sm" c="dimmed">
          {period === 'month' ? (
            <Trans>Resets on {date(window.resets_at)}.</Trans>
          ) : period === 'minute' && window.used === 0 ? (
            <Trans>No usage in the last minute.</Trans>
          ) : (
            <Trans>Resets {relative(window.resets_at)}.</Trans>
          )}
        </Text>
        {forecast !== undefined &&
          forecast.expected > 0 &&
          (forecast.used_up_at === null ? (
            <Text size="sm">
              <Trans>On track for about {number(forecast.expected)} requests this month, within your limit.</Trans>
            </Text>
          ) : (
            <Text size="sm" fw={600}>
              <Trans>At this rate you'll reach your limit on {date(forecast.used_up_at)}.</Trans>
            </Text>
          ))}
      </Stack>
    </Card>
  );
}
