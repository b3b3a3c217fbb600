/** Dialog for operators that creates or edits an account: name, plan, time zone, billing day and status. */
import { Alert, Group, Radio, Select, SimpleGrid, TextInput } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useIdempotentRequest } from '../api/idempotent-request.js';
import { hasCode } from '../api/problem.js';
import { Dialog } from '../layout/dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import type { Checks } from '../layout/form.js';
import { useFieldError } from '../layout/form-errors.js';
import { numberOf } from '../layout/number.js';
import { NumberField, useNumberCheck } from '../layout/number-field.js';
import { Failure } from '../words/failure.js';
import { isolateName } from '../words/isolated.js';
import {
  createAccount,
  refetchAccounts,
  updateAccount,
  usePlans,
  type Account,
  type AccountChange,
} from './accounts.js';

/** Maximum number of time zones that the menu shows at once. */
const MAX_SHOWN_ZONES = 40;
const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];

interface AccountDialogProps {
  /** The account to edit. Undefined if the dialog creates an account. */
  readonly account?: Account | undefined;
  readonly opened: boolean;
  readonly onClose: () => void;
  /** Called with the created or changed account. */
  readonly onDone?: ((account: Account) => void) | undefined;
}

export function AccountDialog({ account, opened, onClose, onDone }: AccountDialogProps) {
  const { t } = useLingui();
  const title = account === undefined ? t`New account` : t`Change ${isolateName(account.name)}`;
  return (
    <Dialog opened={opened} title={title} closeOnClickOutside={false} onClose={onClose}>
      <AccountForm account={account} onClose={onClose} onDone={onDone} />
    </Dialog>
  );
}

/** Request body that the form sends. The form omits `external_id` and `metadata`, which only programs set. */
type Form = Required<Omit<AccountChange, 'external_id' | 'metadata'>>;
/** Values of the form. The billing day is a text as typed. */
type Values = Omit<Form, 'billing_day'> & { readonly billing_day: string };

const valuesOf = (account: Account | undefined): Values => ({
  name: account?.name ?? '',
  plan: account?.plan ?? '',
  time_zone: account?.time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
  billing_day: String(account?.billing_day ?? 1),
  status: account?.status ?? 'active',
});

const bodyOf = (values: Values): Form => ({
  ...values,
  billing_day: numberOf(values.billing_day) ?? 1,
});

/** Returns the request body for an edit. The body contains only the changed fields. */
function changeOf(before: Values, after: Values): AccountChange {
  const [was, is] = [bodyOf(before), bodyOf(after)];
  const names = Object.keys(is) as (keyof Form)[];
  return Object.fromEntries(names.filter((name) => is[name] !== was[name]).map((name) => [name, is[name]]));
}

function AccountForm({ account, onClose, onDone }: Omit<AccountDialogProps, 'opened'>) {
  const { t } = useLingui();
  // The account as it was when the form opened. A refetch does not change the form. The API rejects a change that is
  // based on an old version.
  const [opening] = useState(account);
  const [values, setValues] = useState(() => valuesOf(account));
  const plans = usePlans();
  const { send, error, isPending, changed } = useIdempotentRequest();
  const set = (change: Partial<Values>): void => {
    changed();
    setValues({ ...values, ...change });
  };
  const change = changeOf(valuesOf(opening), values);
  const { status: _, ...body } = bodyOf(values);
  const check = useNumberCheck();
  const checks: Checks = {
    name: values.name.trim() === '' && t`Fill this in.`,
    plan: values.plan === '' && t`Choose a plan.`,
    billing_day: check(values.billing_day, { min: 1, max: 31, isNeeded: true }),
  };
  const save = () =>
    send(async (requestId) => {
      const saved = opening === undefined ? await createAccount(body, requestId) : await updateAccount(opening, change);
      await refetchAccounts();
      onDone?.(saved);
      onClose();
    });
  const planNames = plans.data?.data.map(({ name }) => name) ?? [];
  const hasConflict = hasCode(error, 'precondition_failed');
  return (
    <DialogForm
      submitLabel={opening === undefined ? t`Create account` : t`Save`}
      error={error}
      isPending={isPending}
      checks={checks}
      isReady={!hasConflict && Object.keys(change).length > 0}
      gap="md"
      onSubmit={() => void save()}
      onCancel={onClose}
    >
      <AccountFields values={values} planNames={planNames} onChange={set} />
      {opening !== undefined && (
        <StatusField value={values.status} before={opening.status} onChange={(status) => set({ status })} />
      )}
      {plans.error !== null && <Failure error={plans.error} again={() => void plans.refetch()} />}
    </DialogForm>
  );
}

interface AccountFieldsProps {
  readonly values: Values;
  readonly planNames: readonly string[];
  readonly onChange: (change: Partial<Values>) => void;
}

function AccountFields({ values, planNames, onChange }: AccountFieldsProps) {
  const { t } = useLingui();
  const isListed = values.plan === '' || planNames.includes(values.plan);
  return (
    <>
      <TextInput
        label={t`Name`}
        description={t`The company or team that it belongs to.`}
        required
        withAsterisk={false}
        maxLength={200}
        data-autofocus
        autoComplete="off"
        value={values.name}
        error={useFieldError('name')}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <Select
        label={t`Plan`}
        placeholder={t`Choose one`}
        allowDeselect={false}
        data={isListed ? [...planNames] : [values.plan, ...planNames]}
        value={values.plan === '' ? null : values.plan}
        error={useFieldError('plan')}
        onChange={(plan) => plan !== null && onChange({ plan })}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <Select
          label={t`Time zone`}
          searchable
          allowDeselect={false}
          limit={MAX_SHOWN_ZONES}
          data={ZONES.includes(values.time_zone) ? ZONES : [values.time_zone, ...ZONES]}
          value={values.time_zone}
          nothingFoundMessage={t`No matching time zone`}
          error={useFieldError('time_zone')}
          onChange={(zone) => zone !== null && onChange({ time_zone: zone })}
        />
        <NumberField
          field="billing_day"
          label={t`First day of the month`}
          inputMode="numeric"
          value={values.billing_day}
          onChange={(day) => onChange({ billing_day: day })}
        />
      </SimpleGrid>
    </>
  );
}

interface StatusFieldProps {
  readonly value: Values['status'];
  readonly before: Values['status'];
  readonly onChange: (status: Values['status']) => void;
}

function StatusField({ value, before, onChange }: StatusFieldProps) {
  const { t } = useLingui();
  return (
    <>
      <Radio.Group
        label={t`Status`}
        value={value}
        error={useFieldError('status')}
        onChange={(chosen) => onChange(chosen === 'suspended' ? 'suspended' : 'active')}
      >
        <Group gap="lg" pt={6}>
          <Radio value="active" label={t`Active`} />
          <Radio value="suspended" label={t`Suspended`} />
        </Group>
      </Radio.Group>
      {value === 'suspended' && before === 'active' && (
        <Alert color="orange" variant="light" role="status">
          <Trans>Saving rejects requests from every key of this account.</Trans>
        </Alert>
      )}
    </>
  );
}
