/**
 * Dialog that creates a webhook endpoint. The dialog shows the form, then the signing secret once. The form keeps its
 * values while the dialog is closed.
 */
import { useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useIdempotentRequest } from '../api/idempotent-request.js';
import { SecretDialog } from '../layout/secret-dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import { useAccount } from '../session/accounts.js';
import { EndpointFields, useEndpointChecks } from './endpoint-fields.js';
import { EndpointSecret } from './endpoint-secret.js';
import { EMPTY, newEndpoint, type EndpointValues } from './endpoint-values.js';
import { createEndpoint, refetchList } from './webhooks.js';

interface CreateDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

/**
 * URL and signing secret of the new endpoint. The secret exists only in the state of this dialog, not in a cache or in
 * storage.
 */
interface CreatedEndpoint {
  readonly url: string;
  readonly secret: string;
}

export function CreateDialog({ opened, onClose }: CreateDialogProps) {
  const { t } = useLingui();
  const [values, setValues] = useState<EndpointValues>(EMPTY);
  return (
    <SecretDialog<CreatedEndpoint>
      opened={opened}
      onClose={onClose}
      title={t`Add endpoint`}
      createdTitle={t`Endpoint created`}
      keepsForm
      form={(onCreated) => (
        <CreateForm
          values={values}
          onChange={(change) => setValues({ ...values, ...change })}
          onCancel={onClose}
          onCreated={(endpoint) => {
            onCreated(endpoint);
            setValues(EMPTY);
          }}
        />
      )}
      secret={(made, leaving) => <EndpointSecret {...made} {...leaving} />}
    />
  );
}

interface CreateFormProps {
  readonly values: EndpointValues;
  readonly onChange: (change: Partial<EndpointValues>) => void;
  readonly onCreated: (made: CreatedEndpoint) => void;
  readonly onCancel: () => void;
}

function CreateForm({ values, onChange, onCreated, onCancel }: CreateFormProps) {
  const { t, i18n } = useLingui();
  const checks = useEndpointChecks(values);
  const { id: accountId } = useAccount();
  const { error, isPending, send, changed } = useIdempotentRequest();
  const create = () =>
    send(async (requestId) => {
      const { url, secret } = await createEndpoint(accountId, newEndpoint(values, i18n.locale), requestId);
      onCreated({ url, secret });
      void refetchList(accountId);
    });
  return (
    <DialogForm
      submitLabel={t`Add endpoint`}
      error={error}
      isPending={isPending}
      checks={checks}
      onSubmit={() => void create()}
      onCancel={onCancel}
    >
      <EndpointFields
        values={values}
        onChange={(change) => {
          changed();
          onChange(change);
        }}
      />
    </DialogForm>
  );
}
