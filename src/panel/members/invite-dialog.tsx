/** Asks somebody to join. Where no mail is sent, the link is shown once, to be handed over. */
import { Button, Code, CopyButton, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { api, ask } from '../api/client.js';
import { Dialog } from '../layout/dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import { useAccount } from '../session/accounts.js';
import type { Role } from '../../members/permissions.js';
import { useRoleChoice } from './roles.js';

interface InviteDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly onMade: () => void;
}

/** Of whom, and the link where there is one to hand over. */
interface Made {
  readonly email: string;
  readonly link: string | null;
}

export function InviteDialog({ opened, onClose, onMade }: InviteDialogProps) {
  const { t } = useLingui();
  const { id } = useAccount();
  const roles = useRoleChoice();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [made, setMade] = useState<Made | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isPending, setPending] = useState(false);
  const close = (): void => {
    setMade(null);
    setError(null);
    onClose();
  };
  const invite = async (): Promise<void> => {
    setPending(true);
    setError(null);
    try {
      const body = { email: email.trim(), role };
      const invitation = await ask(api.POST('/admin/v1/accounts/{id}/invitations', { params: { path: { id } }, body }));
      setMade({ email: invitation.email, link: invitation.link ?? null });
      setEmail('');
      onMade();
    } catch (caught) {
      setError(caught);
    } finally {
      setPending(false);
    }
  };
  return (
    <Dialog opened={opened} title={t`Invite somebody`} closeOnClickOutside={false} onClose={close}>
      {made === null ? (
        <DialogForm
          does={t`Invite`}
          error={error}
          isPending={isPending}
          gap="md"
          onSubmit={() => void invite()}
          onCancel={close}
        >
          <TextInput
            label={t`Email`}
            type="email"
            required
            withAsterisk={false}
            data-autofocus
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <Select
            label={t`Role`}
            allowDeselect={false}
            data={roles}
            value={role}
            onChange={(value) => value !== null && setRole(value)}
          />
        </DialogForm>
      ) : (
        <Stack gap="md">
          <Text className="name">
            {made.link === null ? (
              <Trans>A mail is on its way to {made.email}.</Trans>
            ) : (
              <Trans>
                Hand this link to {made.email} and nobody else. It works once, for seven days, and is shown only now.
              </Trans>
            )}
          </Text>
          {made.link !== null && (
            <>
              <Code block className="secret" translate="no">
                {made.link}
              </Code>
              <CopyButton value={made.link}>
                {({ copied, copy }) => (
                  <Button variant="default" onClick={copy} data-autofocus>
                    {copied ? t`Copied` : t`Copy`}
                  </Button>
                )}
              </CopyButton>
            </>
          )}
          <Group justify="flex-end">
            <Button onClick={close}>
              <Trans>Done</Trans>
            </Button>
          </Group>
        </Stack>
      )}
    </Dialog>
  );
}
