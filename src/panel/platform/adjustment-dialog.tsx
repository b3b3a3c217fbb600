/**
 * Dialog with which operators create a quota adjustment. It shows a form, and then a confirmation that describes the
 * effect.
 */
import { Radio, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useKeys } from '../api-keys/keys.js';
import { useIdempotentRequest } from '../api/idempotent-request.js';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { hasCode } from '../api/problem.js';
import { queries } from '../api/queries.js';
import { Dialog } from '../layout/dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import { useFieldError } from '../layout/form-errors.js';
import { FormSelect, FormTextarea } from '../layout/form-fields.js';
import { numberOf } from '../layout/number.js';
import { NumberField, useNumberCheck } from '../layout/number-field.js';
import { isolateName } from '../words/isolated.js';
import { AccountPicker } from './account-picker.js';
import { ConfirmAdjustment } from './confirm-adjustment.js';

type Adjustment = components['schemas']['CreateQuotaAdjustment'];
type Type = Adjustment['type'];

const TYPES: readonly Type[] = ['grant', 'set', 'reset'];
/** Value of `keyId` if the adjustment applies to the whole account. */
const WHOLE_ACCOUNT = '';

interface AdjustmentDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function AdjustmentDialog({ opened, onClose }: AdjustmentDialogProps) {
  const { t } = useLingui();
  return (
    <Dialog opened={opened} title={t`Adjust usage`} closeOnClickOutside={false} onClose={onClose}>
      <AdjustmentSteps onClose={onClose} />
    </Dialog>
  );
}

/** Values of the form. The amount is a text as typed. */
interface Values {
  readonly accountId: string | null;
  readonly keyId: string;
  readonly type: Type;
  readonly amount: string;
  readonly reason: string;
}

const EMPTY: Values = { accountId: null, keyId: WHOLE_ACCOUNT, type: 'grant', amount: '', reason: '' };

function bodyOf({ keyId, type, amount, reason }: Values, locale: string): Adjustment {
  const count = type === 'reset' ? undefined : numberOf(amount, locale);
  return {
    window: 'month',
    type,
    reason: reason.trim(),
    ...(count === undefined ? {} : { amount: count }),
    ...(keyId === WHOLE_ACCOUNT ? {} : { api_key_id: keyId }),
  };
}

/**
 * AdjustmentSteps shows the form, then the confirmation. The confirmation is required, because nobody can undo an
 * adjustment.
 */
function AdjustmentSteps({ onClose }: { readonly onClose: () => void }) {
  const { i18n } = useLingui();
  const [values, setValues] = useState(EMPTY);
  const [isConfirming, setConfirming] = useState(false);
  const { send, error, isPending, changed } = useIdempotentRequest();
  const body = bodyOf(values, i18n.locale);
  const accountId = values.accountId ?? '';
  const adjust = () =>
    send(async (requestId) => {
      const params = { path: { id: accountId } };
      const headers = { 'Idempotency-Key': requestId };
      try {
        await unwrap(api.POST('/admin/v1/accounts/{id}/quota-adjustments', { params, headers, body }));
      } catch (caught) {
        // Return to the form, which shows each validation error at its field.
        if (hasCode(caught, 'validation_failed')) setConfirming(false);
        throw caught;
      }
      await Promise.all([
        queries.invalidateQueries({ queryKey: ['adjustments'] }),
        queries.invalidateQueries({ queryKey: ['account', accountId] }),
      ]);
      onClose();
    });
  if (isConfirming)
    return (
      <ConfirmAdjustment
        accountId={accountId}
        body={body}
        error={error}
        isPending={isPending}
        onBack={() => setConfirming(false)}
        onConfirm={() => void adjust()}
      />
    );
  return (
    <AdjustmentForm
      values={values}
      error={hasCode(error, 'validation_failed') ? error : null}
      onChange={(change) => {
        changed();
        setValues({ ...values, ...change });
      }}
      onCancel={onClose}
      onReady={() => setConfirming(true)}
    />
  );
}

interface AdjustmentFormProps {
  readonly values: Values;
  readonly error: unknown;
  readonly onChange: (change: Partial<Values>) => void;
  readonly onCancel: () => void;
  readonly onReady: () => void;
}

function AdjustmentForm({ values, error, onChange, onCancel, onReady }: AdjustmentFormProps) {
  const { t } = useLingui();
  const check = useNumberCheck();
  const { accountId, keyId, type, amount, reason } = values;
  return (
    <DialogForm
      submitLabel={t`Continue`}
      error={error}
      checks={{
        id: accountId === null && t`Choose an account.`,
        amount: type !== 'reset' && check(amount, { min: type === 'grant' ? 1 : 0, isNeeded: true }),
        reason: reason.trim() === '' && t`Fill this in.`,
      }}
      isPending={false}
      gap="md"
      onSubmit={onReady}
      onCancel={onCancel}
    >
      <AccountPicker
        field="id"
        value={accountId}
        onChange={(id) => onChange({ accountId: id, keyId: WHOLE_ACCOUNT })}
      />
      {accountId !== null && (
        <KeyField accountId={accountId} value={keyId} onChange={(id) => onChange({ keyId: id })} />
      )}
      <TypeField value={type} onChange={(chosen) => onChange({ type: chosen })} />
      {type !== 'reset' && (
        <NumberField
          field="amount"
          inputMode="numeric"
          label={type === 'grant' ? t`Additional requests` : t`Requests used`}
          value={amount}
          onChange={(text) => onChange({ amount: text })}
        />
      )}
      <FormTextarea
        field="reason"
        label={t`Reason`}
        description={t`Visible to the account. Can't be edited later.`}
        autosize
        minRows={2}
        maxLength={500}
        value={reason}
        onChange={(event) => onChange({ reason: event.currentTarget.value })}
      />
    </DialogForm>
  );
}

interface TypeFieldProps {
  readonly value: Type;
  readonly onChange: (type: Type) => void;
}

function TypeField({ value: chosen, onChange }: TypeFieldProps) {
  const { t } = useLingui();
  const words: Readonly<Record<Type, string>> = {
    grant: t`Add requests for this month`,
    set: t`Set the requests used this month`,
    reset: t`Reset usage to zero`,
  };
  return (
    <Radio.Group
      label={t`Type`}
      value={chosen}
      error={useFieldError('type')}
      onChange={(value) => onChange(value as Type)}
    >
      <Stack gap={8} pt={6}>
        {TYPES.map((value) => (
          <Radio key={value} value={value} label={words[value]} />
        ))}
      </Stack>
    </Radio.Group>
  );
}

interface KeyFieldProps {
  readonly accountId: string;
  readonly value: string;
  readonly onChange: (id: string) => void;
}

/** KeyField lets the operator choose the target of the adjustment: the whole account or one of its keys. */
function KeyField({ accountId, value, onChange }: KeyFieldProps) {
  const { t } = useLingui();
  const keys = useKeys(accountId, { status: 'active,paused', sort: 'name' });
  const options = keys.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <>
      <FormSelect
        field="api_key_id"
        label={t`Apply to`}
        searchable
        allowDeselect={false}
        data={[
          { value: WHOLE_ACCOUNT, label: t`Whole account` },
          ...options.map(({ id, name, hint }) => ({ value: id, label: `${isolateName(name)} (${hint})` })),
        ]}
        value={value}
        onChange={(id) => onChange(id ?? WHOLE_ACCOUNT)}
      />
      {keys.hasNextPage && (
        <Text size="sm" c="dimmed">
          <Trans>Only the first keys are listed.</Trans>
        </Text>
      )}
    </>
  );
}
