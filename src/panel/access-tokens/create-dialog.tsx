/**
 * Dialog that creates an access token. The dialog shows the form, then the secret once. The form keeps its values while
 * the dialog is closed.
 */
import { Radio, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useIdempotentRequest } from '../api/idempotent-request.js';
import { AddressesField } from '../api-keys/addresses-field.js';
import { ExpiryField } from '../api-keys/expiry-field.js';
import { DialogForm } from '../layout/dialog-form.js';
import { useFieldError } from '../layout/form-errors.js';
import { FormText } from '../layout/form-fields.js';
import { endOf } from '../words/zone.js';
import { SecretDialog, type LeaveConfirmation } from '../layout/secret-dialog.js';
import { SecretFrame, SecretLine } from '../layout/secret-frame.js';
import { useAccount } from '../session/accounts.js';
import {
  createToken,
  EMPTY,
  latestTokenDay,
  newToken,
  refetchTokens,
  type CreatedToken,
  type TokenValues,
} from './tokens.js';

interface CreateDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

/**
 * Secret and name of the new token. The secret exists only in the state of this dialog, not in a cache or in storage.
 */
type TokenSecretFields = Pick<CreatedToken, 'name' | 'secret'>;

export function CreateDialog({ opened, onClose }: CreateDialogProps) {
  const { t } = useLingui();
  const [values, setValues] = useState<TokenValues>(EMPTY);
  return (
    <SecretDialog<TokenSecretFields>
      opened={opened}
      onClose={onClose}
      title={t`Create access token`}
      createdTitle={t`Access token created`}
      keepsForm
      form={(onCreated) => (
        <CreateForm
          values={values}
          onChange={(change) => setValues({ ...values, ...change })}
          onCancel={onClose}
          onCreated={({ name, secret }) => {
            onCreated({ name, secret });
            setValues(EMPTY);
          }}
        />
      )}
      secret={(made, leaving) => <TokenSecret {...made} {...leaving} />}
    />
  );
}

function TokenSecret({ name, secret, ...leaving }: TokenSecretFields & LeaveConfirmation) {
  const { t } = useLingui();
  const { id } = useAccount();
  const lost = t`You can't view this secret again. You'd need to create another token.`;
  const url = `${location.origin}/admin/v1/accounts/${id}/api-keys`;
  return (
    <SecretFrame lost={lost} {...leaving}>
      <Text>
        <Trans>
          This is the secret for the token <b className="name">{name}</b>.
        </Trans>
      </Text>
      <SecretLine label={t`Secret`} text={secret} autoFocus />
      <SecretLine label={t`Test with curl`} text={`curl -H "Authorization: Bearer ${secret}" "${url}"`} />
    </SecretFrame>
  );
}

interface CreateFormProps {
  readonly values: TokenValues;
  readonly onChange: (change: Partial<TokenValues>) => void;
  readonly onCreated: (made: CreatedToken) => void;
  readonly onCancel: () => void;
}

function CreateForm({ values, onChange, onCreated, onCancel }: CreateFormProps) {
  const { t } = useLingui();
  const { id: accountId, time_zone: timeZone } = useAccount();
  const { error, isPending, send, changed } = useIdempotentRequest();
  const change = (to: Partial<TokenValues>): void => {
    changed();
    onChange(to);
  };
  const create = () =>
    send(async (requestId) => {
      onCreated(await createToken(accountId, newToken(values, timeZone), requestId));
      void refetchTokens(accountId);
    });
  return (
    <DialogForm
      submitLabel={t`Create token`}
      error={error}
      checks={{
        name: values.name.trim() === '' && t`Fill this in.`,
        expires_at: values.expiry === 'date' && endOf(values.day, timeZone) === undefined && t`Choose a day.`,
      }}
      isPending={isPending}
      onSubmit={() => void create()}
      onCancel={onCancel}
    >
      <TokenFields values={values} onChange={change} />
    </DialogForm>
  );
}

interface TokenFieldsProps {
  readonly values: TokenValues;
  readonly onChange: (change: Partial<TokenValues>) => void;
}

function TokenFields({ values, onChange }: TokenFieldsProps) {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  return (
    <>
      <FormText
        field="name"
        label={t`Name`}
        description={t`Describe where you'll use it, e.g. “Deployment”.`}
        required
        withAsterisk={false}
        maxLength={200}
        data-autofocus
        autoComplete="off"
        value={values.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <Radio.Group
        label={t`Role`}
        value={values.role}
        error={useFieldError('role')}
        onChange={(role) => onChange({ role: role === 'admin' ? 'admin' : 'viewer' })}
      >
        <Stack gap={8} pt={6}>
          <Radio value="viewer" label={t`Viewer`} description={t`Read-only access.`} />
          <Radio value="admin" label={t`Admin`} description={t`Manages API keys and webhooks. Can't manage members.`} />
        </Stack>
      </Radio.Group>
      <ExpiryField
        values={values}
        latest={latestTokenDay(timeZone)}
        description={t`Expiring tokens limit the damage if one leaks. A year at most.`}
        error={useFieldError('expires_at')}
        onChange={onChange}
      />
      <AddressesField
        value={values.addresses}
        error={useFieldError('allowed_ips')}
        onChange={(addresses) => onChange({ addresses })}
      />
    </>
  );
}
