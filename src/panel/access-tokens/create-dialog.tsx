/** Creates an access token: the form, then its secret, once. What is typed stays when the dialog is opened again. */
import { Radio, Stack, Text, TextInput } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { hasCode } from '../api/problem.js';
import { useSentOnce } from '../api/sent-once.js';
import { AddressesField } from '../api-keys/addresses-field.js';
import { ExpiryField } from '../api-keys/expiry-field.js';
import { Dialog } from '../layout/dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import { SecretFrame, SecretLine } from '../layout/secret-frame.js';
import { useShownSecret } from '../layout/shown-secret.js';
import { useAccount } from '../session/accounts.js';
import { createToken, EMPTY, latestTokenDay, newToken, readAgain, type MadeToken, type TokenValues } from './tokens.js';

interface CreateDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

/** The secret that was made, and for whom. Nothing but this dialog holds it. */
type Made = Pick<MadeToken, 'name' | 'secret'>;

export function CreateDialog({ opened, onClose }: CreateDialogProps) {
  const { t } = useLingui();
  const { made, show, isLeaving, askToLeave, stay, forget } = useShownSecret<Made>();
  const [values, setValues] = useState<TokenValues>(EMPTY);
  return (
    <Dialog
      opened={opened || made !== null}
      onClose={made === null ? onClose : askToLeave}
      closeOnClickOutside={false}
      title={made === null ? t`Create access token` : t`Access token created`}
      size={640}
    >
      {made === null ? (
        <CreateForm
          values={values}
          onChange={(change) => setValues({ ...values, ...change })}
          onCancel={onClose}
          onMade={({ name, secret }) => {
            show({ name, secret });
            setValues(EMPTY);
            // So that going back later does not lead to an empty form.
            onClose();
          }}
        />
      ) : (
        <TokenSecret {...made} isLeaving={isLeaving} onStay={stay} onDone={forget} />
      )}
    </Dialog>
  );
}

interface TokenSecretProps extends Made {
  readonly isLeaving: boolean;
  readonly onStay: () => void;
  readonly onDone: () => void;
}

function TokenSecret({ name, secret, isLeaving, onStay, onDone }: TokenSecretProps) {
  const { t } = useLingui();
  const { id } = useAccount();
  const lost = t`When this is closed, the secret is gone. You would have to create another token.`;
  const url = `${location.origin}/admin/v1/accounts/${id}/api-keys`;
  return (
    <SecretFrame lost={lost} isLeaving={isLeaving} onStay={onStay} onDone={onDone}>
      <Text>
        <Trans>
          This is the secret of <b className="name">{name}</b>.
        </Trans>
      </Text>
      <SecretLine label={t`Secret`} text={secret} autoFocus />
      <SecretLine label={t`To try it in a terminal`} text={`curl -H "Authorization: Bearer ${secret}" "${url}"`} />
    </SecretFrame>
  );
}

interface CreateFormProps {
  readonly values: TokenValues;
  readonly onChange: (change: Partial<TokenValues>) => void;
  readonly onMade: (made: MadeToken) => void;
  readonly onCancel: () => void;
}

function CreateForm({ values, onChange, onMade, onCancel }: CreateFormProps) {
  const { t } = useLingui();
  const { id: accountId, time_zone: timeZone } = useAccount();
  const { error, isPending, send, changed } = useSentOnce();
  const errorOf = useFieldErrors(error);
  const change = (to: Partial<TokenValues>): void => {
    changed();
    onChange(to);
  };
  const create = () =>
    send(async (requestId) => {
      onMade(await createToken(accountId, newToken(values, timeZone), requestId));
      void readAgain(accountId);
    });
  return (
    <DialogForm
      does={t`Create token`}
      error={error}
      isPending={isPending}
      onSubmit={() => void create()}
      onCancel={onCancel}
    >
      <TextInput
        label={t`Name`}
        description={t`Describe where you'll use it, e.g. “Deployment”.`}
        required
        withAsterisk={false}
        maxLength={200}
        data-autofocus
        autoComplete="off"
        value={values.name}
        error={errorOf('name')}
        onChange={(event) => change({ name: event.currentTarget.value })}
      />
      <Radio.Group
        label={t`Role`}
        value={values.role}
        error={errorOf('role')}
        onChange={(role) => change({ role: role === 'admin' ? 'admin' : 'viewer' })}
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
        error={errorOf('expires_at')}
        onChange={change}
      />
      <AddressesField
        value={values.addresses}
        error={errorOf('allowed_ips')}
        onChange={(addresses) => change({ addresses })}
      />
    </DialogForm>
  );
}

/** What to say at a field that the API did not take. */
function useFieldErrors(error: unknown): (field: string) => string | undefined {
  const { t } = useLingui();
  const words: Readonly<Record<string, string>> = {
    name: t`Give it a name of at most 200 characters.`,
    role: t`Choose a role.`,
    allowed_ips: t`Write addresses like 203.0.113.7, or blocks like 203.0.113.0/24.`,
    expires_at: t`Choose a day in the future, a year from now at most.`,
  };
  const refused = hasCode(error, 'validation_failed') ? error.fields.map(({ field }) => field.split('/')[0] ?? '') : [];
  return (field) => (refused.includes(field) ? words[field] : undefined);
}
