/**
 * Dialog that creates an API key for an assistant. By default, the key is read-only and expires after 30 days. The
 * dialog then shows the setup instructions with the secret once.
 */
import { Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { CreateForm } from '../api-keys/create-form.js';
import { EMPTY, type KeyValues } from '../api-keys/key-values.js';
import { useScopes, type CreatedKey } from '../api-keys/keys.js';
import { SecretDialog } from '../layout/secret-dialog.js';
import { SecretFrame, SecretLine } from '../layout/secret-frame.js';
import { asksForKey, type Client, type Connection } from './clients.js';
import { Connect } from './connect.js';

interface KeyDialogProps {
  readonly opened: boolean;
  readonly connection: Omit<Connection, 'secret'>;
  readonly client: Client;
  /**
   * Scopes that the read-only tools require. The form preselects these scopes, except scopes that the user cannot give
   * a key.
   */
  readonly readingScopes: readonly string[];
  readonly onChoose: (client: Client) => void;
  readonly onCreated: (keyId: string) => void;
  readonly onClose: () => void;
}

/** Secret and name of the new key. The secret exists only in the state of this dialog, not in a cache or in storage. */
type KeySecretFields = Pick<CreatedKey, 'name' | 'secret'>;

export function KeyDialog(props: KeyDialogProps) {
  const { opened, connection, client, onChoose, onClose } = props;
  const { t } = useLingui();
  const lost = t`You can't view this secret again. You'd need to rotate the key.`;
  return (
    <SecretDialog<KeySecretFields>
      opened={opened}
      onClose={onClose}
      title={t`Create assistant key`}
      createdTitle={t`API key created`}
      keepsForm
      form={(onCreated) => (
        <KeyForm
          readingScopes={props.readingScopes}
          onCancel={onClose}
          onCreated={({ id, name, secret }) => {
            onCreated({ name, secret });
            props.onCreated(id);
          }}
        />
      )}
      secret={(made, leaving) => (
        <SecretFrame lost={lost} {...leaving}>
          <Text>
            <Trans>
              This is the secret key for <b className="name">{made.name}</b>.
            </Trans>
          </Text>
          <Connect client={client} connection={{ ...connection, secret: made.secret }} onChoose={onChoose} />
          {asksForKey(client) && <SecretLine label={t`Secret`} text={made.secret} />}
        </SecretFrame>
      )}
    />
  );
}

interface KeyFormProps extends Pick<KeyDialogProps, 'readingScopes'> {
  readonly onCreated: (made: CreatedKey) => void;
  readonly onCancel: () => void;
}

function KeyForm({ readingScopes, onCreated, onCancel }: KeyFormProps) {
  const grantable = useScopes().data?.data.map(({ scope }) => scope) ?? [];
  const [edits, setEdits] = useState<Partial<KeyValues>>({});
  const values: KeyValues = {
    ...EMPTY,
    expiry: '30',
    scopes: readingScopes.filter((scope) => grantable.includes(scope)),
    ...edits,
  };
  return (
    <CreateForm
      values={values}
      onChange={(change) => setEdits({ ...edits, ...change })}
      onCreated={onCreated}
      onCancel={onCancel}
    >
      <Text size="sm" c="dimmed">
        <Trans>Read-only and expires in 30 days by default. Use one key per assistant.</Trans>
      </Text>
    </CreateForm>
  );
}
