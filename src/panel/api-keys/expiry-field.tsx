/** Form field for the expiration of a key or access token: a preset lifetime, a custom date, or none. */
import { Group, Radio, Text, TextInput } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useAccount } from '../session/accounts.js';
import { dayIn, endOf } from '../words/zone.js';
import { useFormats } from '../words/times.js';
import { EXPIRIES, lastDay, type Expiry, type KeyValues } from './key-values.js';

interface ExpiryFieldProps {
  readonly values: Pick<KeyValues, 'expiry' | 'day'>;
  /** Current expiration (ISO 8601), which the form offers as a choice. Null if there is no expiration to keep. */
  readonly kept?: string | null;
  /** Latest date that the user can choose, such as `2027-01-31`. Null allows any date, and also no expiration. */
  readonly latest: string | null;
  readonly description: string;
  readonly error: string | undefined;
  readonly onChange: (change: Partial<Pick<KeyValues, 'expiry' | 'day'>>) => void;
}

export function ExpiryField({ values, kept = null, latest, description, error, onChange }: ExpiryFieldProps) {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const { date, time } = useFormats(timeZone);
  const keptDay = kept === null ? '' : date(kept);
  const end = endOf(lastDay(values, timeZone), timeZone);
  const expires = end === undefined ? '' : time(end);
  const isOffered = (day: string): boolean => latest === null || day <= latest;
  const words: Readonly<Record<(typeof EXPIRIES)[number], string>> = {
    '30': t`30 days`,
    '90': t`90 days`,
    '365': t`1 year`,
  };
  return (
    <Radio.Group
      label={t`Expiration`}
      description={description}
      value={values.expiry}
      onChange={(expiry) => onChange({ expiry: expiry as Expiry })}
      error={error}
    >
      <Group gap="lg" pt={8}>
        {kept !== null && <Radio value="kept" label={keptDay} />}
        {EXPIRIES.filter((days) => isOffered(dayIn(Number(days), timeZone))).map((days) => (
          <Radio key={days} value={days} label={words[days]} />
        ))}
        {isOffered(dayIn(1, timeZone)) && <Radio value="date" label={t`Custom date`} />}
        {latest === null && <Radio value="never" label={t`No expiration`} />}
      </Group>
      {values.expiry === 'date' && (
        <TextInput
          mt="sm"
          w={200}
          type="date"
          aria-label={t`Last day`}
          required
          min={dayIn(1, timeZone)}
          max={latest ?? undefined}
          value={values.day}
          onChange={(event) => onChange({ day: event.currentTarget.value })}
        />
      )}
      {expires !== '' && (
        <Text size="sm" c="dimmed" pt={8}>
          <Trans>
            Expires {expires} ({timeZone}).
          </Trans>
        </Text>
      )}
      {values.expiry === 'never' && (
        <Text size="sm" c="dimmed" pt={8}>
          <Trans>This key never expires. Review it from time to time.</Trans>
        </Text>
      )}
    </Radio.Group>
  );
}
