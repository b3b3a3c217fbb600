/** The fields of a key, for making and for changing one. */
import { Button, Collapse, Group, Input, NumberInput, Radio, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Trans, useLingui } from '@lingui/react/macro';
import { hasCode } from '../api/problem.js';
import { useAccount } from '../session/accounts.js';
import { Icon } from '../layout/icons.js';
import { useFormats } from '../words/times.js';
import type { Key } from './keys.js';
import { beginningOf, dayIn } from '../words/zone.js';
import { lastDay, type Expiry, type KeyValues } from './key-values.js';
import { ScopePicker } from './scope-picker.js';

interface KeyFieldsProps {
  readonly values: KeyValues;
  /** The key that is changed. */
  readonly current?: Key | undefined;
  readonly error: unknown;
  readonly onChange: (change: Partial<KeyValues>) => void;
}

/** What to say at a field that the API did not take. */
function useFieldErrors(error: unknown): (field: string) => string | undefined {
  const { t } = useLingui();
  const words: Readonly<Record<string, string>> = {
    name: t`Give it a name of at most 200 characters.`,
    scopes: t`Choose at least one thing that it may do, and only what is listed.`,
    allowed_ips: t`Write addresses like 203.0.113.7, or blocks like 203.0.113.0/24.`,
    expires_at: t`Choose a day that is yet to come.`,
    limits: t`Write a whole number.`,
  };
  const refused = hasCode(error, 'validation_failed') ? error.fields.map(({ field }) => field.split('/')[0] ?? '') : [];
  return (field) => (refused.includes(field) ? words[field] : undefined);
}

export function KeyFields({ values, current, error, onChange }: KeyFieldsProps) {
  const { t } = useLingui();
  const errorOf = useFieldErrors(error);
  return (
    <Stack gap="lg">
      <TextInput
        label={t`Name`}
        description={t`The program that will use it, such as "Booking widget".`}
        required
        withAsterisk={false}
        maxLength={200}
        data-autofocus
        autoComplete="off"
        value={values.name}
        error={errorOf('name')}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <ScopePicker value={values.scopes} error={errorOf('scopes')} onChange={(scopes) => onChange({ scopes })} />
      <ExpiryField values={values} current={current} error={errorOf('expires_at')} onChange={onChange} />
      {current === undefined && (
        <Radio.Group
          label={t`For what`}
          value={values.environment}
          onChange={(value) => onChange({ environment: value === 'test' ? 'test' : 'live' })}
        >
          <Stack gap={8} pt={6}>
            <Radio value="live" label={t`Live`} description={t`For your customers.`} />
            <Radio value="test" label={t`Test`} description={t`For trying things out; the secret says so.`} />
          </Stack>
        </Radio.Group>
      )}
      <More values={values} errorOf={errorOf} onChange={onChange} />
    </Stack>
  );
}

interface ExpiryFieldProps {
  readonly values: KeyValues;
  readonly current: Key | undefined;
  readonly error: string | undefined;
  readonly onChange: (change: Partial<KeyValues>) => void;
}

function ExpiryField({ values, current, error, onChange }: ExpiryFieldProps) {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const { date } = useFormats(timeZone);
  const kept = current?.expires_at ?? null;
  const keptDay = kept === null ? '' : date(kept);
  const last = beginningOf(lastDay(values, timeZone), timeZone);
  const lastWords = last === undefined ? '' : date(last);
  return (
    <Radio.Group
      label={t`Works until`}
      description={t`A key that ends by itself cannot be forgotten in an old laptop.`}
      value={values.expiry}
      onChange={(expiry) => onChange({ expiry: expiry as Expiry })}
      error={error}
    >
      <Group gap="lg" pt={8}>
        {kept !== null && <Radio value="kept" label={keptDay} />}
        <Radio value="30" label={t`30 days from now`} />
        <Radio value="90" label={t`90 days from now`} />
        <Radio value="365" label={t`A year from now`} />
        <Radio value="date" label={t`A day that I choose`} />
        <Radio value="never" label={t`Somebody revokes it`} />
      </Group>
      {values.expiry === 'date' && (
        <TextInput
          mt="sm"
          w={200}
          type="date"
          aria-label={t`Last day`}
          required
          min={dayIn(1, timeZone)}
          value={values.day}
          onChange={(event) => onChange({ day: event.currentTarget.value })}
        />
      )}
      {lastWords !== '' && (
        <Text size="sm" c="dimmed" pt={8}>
          <Trans>Its last day is {lastWords}, in the time zone of the account.</Trans>
        </Text>
      )}
      {values.expiry === 'never' && (
        <Text size="sm" c="dimmed" pt={8}>
          <Trans>It works until somebody revokes it. Look at it again now and then.</Trans>
        </Text>
      )}
    </Radio.Group>
  );
}

interface MoreProps {
  readonly values: KeyValues;
  readonly errorOf: (field: string) => string | undefined;
  readonly onChange: (change: Partial<KeyValues>) => void;
}

function More({ values, errorOf, onChange }: MoreProps) {
  const { t } = useLingui();
  const isSet = values.addresses.length > 0 || values.minute !== '' || values.month !== '';
  const [isOpen, { toggle }] = useDisclosure(isSet);
  const number = (value: string | number): number | '' => (typeof value === 'number' ? value : '');
  return (
    <div>
      <Button
        variant="subtle"
        size="sm"
        px={4}
        aria-expanded={isOpen}
        rightSection={<Icon name="down" size={16} />}
        onClick={toggle}
      >
        <Trans>Addresses and limits</Trans>
      </Button>
      <Collapse expanded={isOpen}>
        <Stack gap="md" pt="sm">
          <TagsInput
            label={t`Only from these addresses`}
            description={t`Empty: from anywhere. Press Enter after each one.`}
            placeholder={values.addresses.length === 0 ? '203.0.113.7' : ''}
            value={[...values.addresses]}
            error={errorOf('allowed_ips')}
            splitChars={[',', ' ']}
            acceptValueOnBlur
            onChange={(addresses) => onChange({ addresses })}
          />
          <Input.Wrapper
            label={t`Limits of its own`}
            labelElement="div"
            description={t`Empty: what your plan says.`}
            error={errorOf('limits')}
          >
            <Group grow pt={6} align="flex-start">
              <NumberInput
                label={t`Requests a minute`}
                min={0}
                allowDecimal={false}
                thousandSeparator=" "
                value={values.minute}
                onChange={(value) => onChange({ minute: number(value) })}
              />
              <NumberInput
                label={t`Requests a month`}
                min={0}
                allowDecimal={false}
                thousandSeparator=" "
                value={values.month}
                onChange={(value) => onChange({ month: number(value) })}
              />
            </Group>
          </Input.Wrapper>
        </Stack>
      </Collapse>
    </div>
  );
}
