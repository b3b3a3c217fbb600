/** Form fields of an API key, and their validation. The create form and the edit dialog share these fields. */
import { Button, Collapse, Group, Input, Radio, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Trans, useLingui } from '@lingui/react/macro';
import { useAccount } from '../session/accounts.js';
import type { Checks } from '../layout/form.js';
import { useFieldError } from '../layout/form-errors.js';
import { Icon } from '../layout/icons.js';
import { NumberField, useNumberCheck } from '../layout/number-field.js';
import { LIMIT_PERIODS, useLimitLabels } from '../words/limits.js';
import { useFormats } from '../words/times.js';
import type { Key, OAuthGrant } from './keys.js';
import { AddressesField } from './addresses-field.js';
import { ExpiryField } from './expiry-field.js';
import { endOf } from '../words/zone.js';
import { latestDay, type KeyValues } from './key-values.js';
import { ScopePicker } from './scope-picker.js';

interface KeyFieldsProps {
  readonly values: KeyValues;
  /** The key to edit. Undefined if the form creates a key. */
  readonly current?: Key | undefined;
  /** Scopes and latest expiration that an OAuth client was granted, for a key of that client. Null for other keys. */
  readonly grant?: OAuthGrant | null;
  readonly onChange: (change: Partial<KeyValues>) => void;
}

/** Returns the validation errors of the form, by API field name. False means that the field is valid. */
export function useKeyChecks(values: KeyValues): Checks {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const check = useNumberCheck();
  return {
    name: values.name.trim() === '' && t`Fill this in.`,
    scopes: values.scopes.length === 0 && t`Choose at least one permission.`,
    expires_at: values.expiry === 'date' && endOf(values.day, timeZone) === undefined && t`Choose a day.`,
    ...Object.fromEntries(
      LIMIT_PERIODS.map((period) => [`limits/${period}`, check(values.limits[period], { min: 0 })]),
    ),
  };
}

export function KeyFields({ values, current, grant = null, onChange }: KeyFieldsProps) {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const { date } = useFormats(timeZone);
  const nameError = useFieldError('name');
  const expiryError = useFieldError('expires_at');
  const latestExpiration = grant?.latest_expires_at ?? null;
  const boundDay = latestExpiration === null ? '' : date(latestExpiration);
  return (
    <Stack gap="lg">
      <TextInput
        label={t`Name`}
        description={t`Describe where you'll use it, e.g. “Booking widget”.`}
        required
        withAsterisk={false}
        maxLength={200}
        data-autofocus
        autoComplete="off"
        value={values.name}
        error={nameError}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <ScopePicker value={values.scopes} granted={grant?.scopes ?? null} onChange={(scopes) => onChange({ scopes })} />
      <ExpiryField
        values={values}
        kept={current?.expires_at ?? null}
        latest={latestExpiration === null ? null : latestDay(grant, timeZone)}
        description={
          latestExpiration === null
            ? t`Expiring keys limit the damage if one leaks.`
            : t`No later than ${boundDay}. To extend it or add permissions, connect the assistant again.`
        }
        error={expiryError}
        onChange={onChange}
      />
      {current === undefined && <EnvironmentField value={values.environment} onChange={onChange} />}
      <AdvancedFields values={values} onChange={onChange} />
    </Stack>
  );
}

interface EnvironmentFieldProps {
  readonly value: KeyValues['environment'];
  readonly onChange: (change: Partial<KeyValues>) => void;
}

function EnvironmentField({ value: chosen, onChange }: EnvironmentFieldProps) {
  const { t } = useLingui();
  return (
    <Radio.Group
      label={t`Environment`}
      error={useFieldError('environment')}
      value={chosen}
      onChange={(value) => onChange({ environment: value === 'test' ? 'test' : 'live' })}
    >
      <Stack gap={8} pt={6}>
        <Radio value="live" label={t`Live`} description={t`Real customer data.`} />
        <Radio value="test" label={t`Test`} description={t`For development. The key starts with tg_test_.`} />
      </Stack>
    </Radio.Group>
  );
}

interface AdvancedFieldsProps {
  readonly values: KeyValues;
  readonly onChange: (change: Partial<KeyValues>) => void;
}

function AdvancedFields({ values, onChange }: AdvancedFieldsProps) {
  const { t } = useLingui();
  const isSet = values.addresses.length > 0 || LIMIT_PERIODS.some((period) => values.limits[period] !== '');
  const limitWords = useLimitLabels();
  const [isToggledOpen, { toggle }] = useDisclosure(isSet);
  const addressesError = useFieldError('allowed_ips');
  const limitsError = useFieldError('limits');
  // An error in the section keeps the section open.
  const isOpen = isToggledOpen || addressesError !== undefined || limitsError !== undefined;
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
        <Trans>Advanced: IP restrictions and rate limits</Trans>
      </Button>
      <Collapse expanded={isOpen}>
        <Stack gap="md" pt="sm">
          <AddressesField
            value={values.addresses}
            error={addressesError}
            onChange={(addresses) => onChange({ addresses })}
          />
          <Input.Wrapper
            label={t`Key limits`}
            labelElement="div"
            description={t`Leave empty to use your plan's limits.`}
          >
            <Group grow pt={6} align="flex-start">
              {LIMIT_PERIODS.map((period) => (
                <NumberField
                  key={period}
                  field={`limits/${period}`}
                  label={limitWords[period].requests}
                  value={values.limits[period]}
                  onChange={(limit) => onChange({ limits: { ...values.limits, [period]: limit } })}
                />
              ))}
            </Group>
            {limitsError !== undefined && <Input.Error pt={6}>{limitsError}</Input.Error>}
          </Input.Wrapper>
        </Stack>
      </Collapse>
    </div>
  );
}
