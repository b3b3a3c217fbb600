/** Makes an adjustment: of which month, what, and why. It stands for good. */
import { Alert, Button, Group, NumberInput, Radio, Select, Stack, Text, Textarea } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useKeys } from '../api-keys/keys.js';
import { useSentOnce } from '../api/sent-once.js';
import type { components } from '../api/admin-api.js';
import { api, ask } from '../api/client.js';
import { hasCode } from '../api/problem.js';
import { queries } from '../api/queries.js';
import { Dialog } from '../layout/dialog.js';
import { Failure } from '../words/failure.js';
import { isolated } from '../words/isolated.js';
import { AccountPicker } from './account-picker.js';

type Adjustment = components['schemas']['CreateQuotaAdjustment'];
type Type = Adjustment['type'];

const TYPES: readonly Type[] = ['grant', 'set', 'reset'];
const WHOLE_ACCOUNT = '';

interface AdjustmentDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function AdjustmentDialog({ opened, onClose }: AdjustmentDialogProps) {
  const { t } = useLingui();
  return (
    <Dialog opened={opened} title={t`Adjust a month`} closeOnClickOutside={false} onClose={onClose}>
      <AdjustmentForm onClose={onClose} />
    </Dialog>
  );
}

function AdjustmentForm({ onClose }: { readonly onClose: () => void }) {
  const { t } = useLingui();
  const [accountId, setAccountId] = useState<string | null>(null);
  const [keyId, setKeyId] = useState(WHOLE_ACCOUNT);
  const [type, setType] = useState<Type>('grant');
  const [amount, setAmount] = useState<number | ''>('');
  const [reason, setReason] = useState('');
  const { send, error, isPending, changed } = useSentOnce();
  const needsAmount = type !== 'reset';
  const isWhole = accountId !== null && reason.trim() !== '' && (!needsAmount || amount !== '');
  const make = () =>
    send(async (requestId) => {
      const body: Adjustment = {
        window: 'month',
        type,
        reason: reason.trim(),
        ...(needsAmount && amount !== '' ? { amount } : {}),
        ...(keyId === WHOLE_ACCOUNT ? {} : { api_key_id: keyId }),
      };
      const params = { path: { id: accountId ?? '' } };
      const headers = { 'Idempotency-Key': requestId };
      await ask(api.POST('/admin/v1/accounts/{id}/quota-adjustments', { params, headers, body }));
      await Promise.all([
        queries.invalidateQueries({ queryKey: ['adjustments'] }),
        queries.invalidateQueries({ queryKey: ['account', accountId] }),
      ]);
      onClose();
    });
  const words: Readonly<Record<Type, string>> = {
    grant: t`Give more until the month ends`,
    set: t`Set what is used`,
    reset: t`Set what is used to nothing`,
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void make();
      }}
      onChange={changed}
    >
      <Stack gap="md">
        <AccountPicker
          value={accountId}
          onChange={(id) => {
            changed();
            setKeyId(WHOLE_ACCOUNT);
            setAccountId(id);
          }}
        />
        {accountId !== null && <KeyField accountId={accountId} value={keyId} onChange={setKeyId} />}
        <Radio.Group label={t`What`} value={type} onChange={(value) => setType(value as Type)}>
          <Stack gap={8} pt={6}>
            {TYPES.map((value) => (
              <Radio key={value} value={value} label={words[value]} />
            ))}
          </Stack>
        </Radio.Group>
        {needsAmount && (
          <NumberInput
            label={type === 'grant' ? t`How many requests more` : t`How many requests are used`}
            min={type === 'grant' ? 1 : 0}
            allowDecimal={false}
            allowNegative={false}
            thousandSeparator=" "
            required
            withAsterisk={false}
            value={amount}
            onChange={(value) => setAmount(typeof value === 'number' ? value : '')}
          />
        )}
        <Textarea
          label={t`Why`}
          description={t`The account reads it, too. It cannot be changed later.`}
          required
          withAsterisk={false}
          autosize
          minRows={2}
          maxLength={500}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
        {hasCode(error, 'conflict') ? (
          <Alert color="red" variant="light" role="alert" title={t`There is nothing to raise here`}>
            <Trans>
              This month has no limit of its own, or the key is revoked. Choose another month, or set what is used.
            </Trans>
          </Alert>
        ) : (
          error !== null && <Failure error={error} />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" loading={isPending} disabled={!isWhole}>
            <Trans>Adjust</Trans>
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface KeyFieldProps {
  readonly accountId: string;
  readonly value: string;
  readonly onChange: (id: string) => void;
}

/** The month of the account, or of one of its keys. */
function KeyField({ accountId, value, onChange }: KeyFieldProps) {
  const { t } = useLingui();
  const keys = useKeys(accountId, { status: 'active,paused', sort: 'name' });
  const options = keys.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <>
      <Select
        label={t`Whose month`}
        searchable
        allowDeselect={false}
        data={[
          { value: WHOLE_ACCOUNT, label: t`The account's` },
          ...options.map(({ id, name, hint }) => ({ value: id, label: `${isolated(name)} (${hint})` })),
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
