/** Makes an account, or changes one: what it is called, pays for and whether it is in use. */
import { Alert, Group, NumberInput, Radio, Select, SimpleGrid, TextInput } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useSentOnce } from '../api/sent-once.js';
import { hasCode } from '../api/problem.js';
import { Dialog } from '../layout/dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import { Failure } from '../words/failure.js';
import { isolated } from '../words/isolated.js';
import { createAccount, readAgain, updateAccount, usePlans, type Account, type AccountChange } from './accounts.js';

/** Of several hundred zones so many are shown at once. */
const SHOWN_ZONES = 40;
const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];

interface AccountDialogProps {
  /** The account that is changed; undefined: a new one is made. */
  readonly account?: Account | undefined;
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly onDone?: ((account: Account) => void) | undefined;
}

export function AccountDialog({ account, opened, onClose, onDone }: AccountDialogProps) {
  const { t } = useLingui();
  const title = account === undefined ? t`New account` : t`Change ${isolated(account.name)}`;
  return (
    <Dialog opened={opened} title={title} closeOnClickOutside={false} onClose={onClose}>
      <AccountForm account={account} onClose={onClose} onDone={onDone} />
    </Dialog>
  );
}

type Values = Required<AccountChange>;

const valuesOf = (account: Account | undefined): Values => ({
  name: account?.name ?? '',
  plan: account?.plan ?? '',
  time_zone: account?.time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
  billing_day: account?.billing_day ?? 1,
  status: account?.status ?? 'active',
});

/** The fields that are not as they were. */
function changeOf(before: Values, now: Values): AccountChange {
  const names = Object.keys(now) as (keyof Values)[];
  return Object.fromEntries(names.filter((name) => now[name] !== before[name]).map((name) => [name, now[name]]));
}

function AccountForm({ account, onClose, onDone }: Omit<AccountDialogProps, 'opened'>) {
  const { t } = useLingui();
  // As it was when the form was opened: what others change meanwhile is said, not mixed in.
  const [opening] = useState(account);
  const [values, setValues] = useState(() => valuesOf(account));
  const plans = usePlans();
  const { send, error, isPending, changed } = useSentOnce();
  const set = (change: Partial<Values>): void => {
    changed();
    setValues({ ...values, ...change });
  };
  const change = changeOf(valuesOf(opening), values);
  const { status: _, ...made } = values;
  const save = () =>
    send(async (requestId) => {
      const saved = opening === undefined ? await createAccount(made, requestId) : await updateAccount(opening, change);
      await readAgain();
      onDone?.(saved);
      onClose();
    });
  const names = plans.data?.data.map(({ name }) => name) ?? [];
  const isOvertaken = hasCode(error, 'precondition_failed');
  return (
    <DialogForm
      does={opening === undefined ? t`Create account` : t`Save`}
      error={error}
      isPending={isPending}
      isWhole={values.name.trim() !== '' && values.plan !== '' && !isOvertaken && Object.keys(change).length > 0}
      gap="md"
      onSubmit={() => void save()}
      onCancel={onClose}
    >
      <TextInput
        label={t`Name`}
        description={t`The company or team that it belongs to.`}
        required
        withAsterisk={false}
        maxLength={200}
        data-autofocus
        autoComplete="off"
        value={values.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <Select
        label={t`Plan`}
        placeholder={t`Choose one`}
        allowDeselect={false}
        data={names.includes(values.plan) || values.plan === '' ? names : [values.plan, ...names]}
        value={values.plan === '' ? null : values.plan}
        onChange={(plan) => plan !== null && set({ plan })}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <Select
          label={t`Time zone`}
          searchable
          allowDeselect={false}
          limit={SHOWN_ZONES}
          data={ZONES.includes(values.time_zone) ? ZONES : [values.time_zone, ...ZONES]}
          value={values.time_zone}
          nothingFoundMessage={t`No zone is called so`}
          onChange={(zone) => zone !== null && set({ time_zone: zone })}
        />
        <NumberInput
          label={t`First day of the month`}
          min={1}
          max={31}
          clampBehavior="strict"
          allowDecimal={false}
          value={values.billing_day}
          onChange={(day) => typeof day === 'number' && set({ billing_day: day })}
        />
      </SimpleGrid>
      {opening !== undefined && (
        <StatusField value={values.status} before={opening.status} onChange={(status) => set({ status })} />
      )}
      {plans.error !== null && <Failure error={plans.error} again={() => void plans.refetch()} />}
    </DialogForm>
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
        label={t`State`}
        value={value}
        onChange={(chosen) => onChange(chosen === 'suspended' ? 'suspended' : 'active')}
      >
        <Group gap="lg" pt={6}>
          <Radio value="active" label={t`In use`} />
          <Radio value="suspended" label={t`Suspended`} />
        </Group>
      </Radio.Group>
      {value === 'suspended' && before === 'active' && (
        <Alert color="orange" variant="light" role="status">
          <Trans>From the moment that you save it, every key of this account is refused.</Trans>
        </Alert>
      )}
    </>
  );
}
