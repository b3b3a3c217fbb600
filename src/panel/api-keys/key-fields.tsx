/** The fields of a key, for making and for changing one. */
import { Button, Collapse, Group, Input, NumberInput, Radio, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Trans, useLingui } from '@lingui/react/macro';
import { hasCode } from '../api/problem.js';
import { useAccount } from '../session/accounts.js';
import { Icon } from '../layout/icons.js';
import { useFormats } from '../words/times.js';
import type { Key, OAuthGrant } from './keys.js';
import { AddressesField } from './addresses-field.js';
import { ExpiryField } from './expiry-field.js';
import { latestDay, type KeyValues } from './key-values.js';
import { ScopePicker } from './scope-picker.js';

interface KeyFieldsProps {
  readonly values: KeyValues;
  /** The key that is changed. */
  readonly current?: Key | undefined;
  /** The most that it may become, where it is an OAuth client's. */
  readonly grant?: OAuthGrant | null;
  readonly error: unknown;
  readonly onChange: (change: Partial<KeyValues>) => void;
}

/** What to say at a field that the API did not take. */
function useFieldErrors(error: unknown, isClients: boolean): (field: string) => string | undefined {
  const { t } = useLingui();
  const words: Readonly<Record<string, string>> = {
    name: t`Give it a name of at most 200 characters.`,
    scopes: isClients
      ? t`Choose only what the assistant was given when it was let in.`
      : t`Choose at least one thing that it may do, and only what is listed.`,
    allowed_ips: t`Write addresses like 203.0.113.7, or blocks like 203.0.113.0/24.`,
    expires_at: isClients
      ? t`Choose an earlier day: nobody may let an assistant in for so long.`
      : t`Choose a day that is yet to come.`,
    limits: t`Write a whole number.`,
  };
  const refused = hasCode(error, 'validation_failed') ? error.fields.map(({ field }) => field.split('/')[0] ?? '') : [];
  return (field) => (refused.includes(field) ? words[field] : undefined);
}

export function KeyFields({ values, current, grant = null, error, onChange }: KeyFieldsProps) {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const { date } = useFormats(timeZone);
  const errorOf = useFieldErrors(error, grant !== null);
  const bound = grant?.latest_expires_at ?? null;
  const boundDay = bound === null ? '' : date(bound);
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
      <ScopePicker
        value={values.scopes}
        granted={grant?.scopes ?? null}
        error={errorOf('scopes')}
        onChange={(scopes) => onChange({ scopes })}
      />
      <ExpiryField
        values={values}
        kept={current?.expires_at ?? null}
        latest={bound === null ? null : latestDay(grant, timeZone)}
        description={
          bound === null
            ? t`A key that ends by itself cannot be forgotten in an old laptop.`
            : t`At the latest ${boundDay}. For longer, or for more than this, connect the assistant once more.`
        }
        error={errorOf('expires_at')}
        onChange={onChange}
      />
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
          <AddressesField
            value={values.addresses}
            error={errorOf('allowed_ips')}
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
