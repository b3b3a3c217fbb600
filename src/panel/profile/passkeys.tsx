/** Profile section with the member's passkeys, and buttons to add, rename and remove them. */
import { Badge, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { queries } from '../api/queries.js';
import { Dialog } from '../layout/dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import { FormText } from '../layout/form-fields.js';
import { Icon } from '../layout/icons.js';
import { Section } from '../layout/section.js';
import { ConfirmDialog } from '../layout/confirm-dialog.js';
import { supportsPasskeys, makePasskey } from '../api/passkey.js';
import { refetchMe } from '../session/session.js';
import { Failure } from '../words/failure.js';
import { isolateName } from '../words/isolated.js';
import { useFormats } from '../words/times.js';
import { useUserAgentLabel } from './user-agent.js';

type Passkey = components['schemas']['Passkey'];

const QUERY_KEY = ['own', 'passkeys'] as const;
const refetchPasskeys = async (): Promise<void> => {
  await Promise.all([queries.invalidateQueries({ queryKey: QUERY_KEY }), refetchMe()]);
};

export function Passkeys() {
  const { t } = useLingui();
  const program = useUserAgentLabel();
  const passkeys = useQuery({ queryKey: QUERY_KEY, queryFn: () => unwrap(api.GET('/admin/v1/me/passkeys')) });
  const add = useMutation({
    mutationFn: async () => {
      const options = await unwrap(api.POST('/admin/v1/me/passkeys/options'));
      // Browsers do not report where they stored a passkey. The default name therefore names the browser.
      const body = { name: program(navigator.userAgent), response: await makePasskey(options) };
      await unwrap(api.POST('/admin/v1/me/passkeys', { body }));
      await refetchPasskeys();
    },
  });
  const own = passkeys.data?.data ?? [];
  return (
    <Section
      title={t`Passkeys`}
      description={
        <Trans>
          Sign in with a fingerprint, a face or your device's lock. No password to remember, and safe from phishing.
        </Trans>
      }
      actions={
        supportsPasskeys() && (
          <Button
            variant="default"
            leftSection={<Icon name="plus" />}
            loading={add.isPending}
            onClick={() => add.mutate()}
          >
            <Trans>Add a passkey</Trans>
          </Button>
        )
      }
    >
      {add.error !== null && <Failure error={add.error} />}
      {passkeys.error !== null && <Failure error={passkeys.error} again={() => void passkeys.refetch()} />}
      {passkeys.isPending && <Skeleton h={28} w={200} />}
      {passkeys.isSuccess && own.length === 0 && (
        <Text size="sm" c="dimmed">
          {supportsPasskeys() ? <Trans>No passkeys yet.</Trans> : <Trans>This browser doesn't support passkeys.</Trans>}
        </Text>
      )}
      {own.length > 0 && (
        <Stack gap={0} component="ul" className="plain-list flush">
          {own.map((passkey) => (
            <Line key={passkey.id} passkey={passkey} />
          ))}
        </Stack>
      )}
    </Section>
  );
}

function Line({ passkey }: { readonly passkey: Passkey }) {
  const { t } = useLingui();
  const { date, relative } = useFormats();
  const [open, setOpen] = useState<'rename' | 'remove' | null>(null);
  const { id, name } = passkey;
  const made = date(passkey.created_at);
  return (
    <li className="line">
      <Group justify="space-between" gap="sm">
        <div>
          <Group gap="xs">
            <Text fw={600} className="name">
              {name}
            </Text>
            {passkey.backed_up && (
              <Badge variant="light" size="sm">
                <Trans>Backed up</Trans>
              </Badge>
            )}
          </Group>
          <Text size="sm" c="dimmed">
            <Trans>Added on {made}</Trans>
            {' · '}
            {passkey.last_used_at === null ? t`Never used` : t`Last used: ${relative(passkey.last_used_at)}`}
          </Text>
        </div>
        <Group gap="xs">
          <Button variant="default" size="sm" aria-label={t`Rename ${name}`} onClick={() => setOpen('rename')}>
            <Icon name="pencil" size={16} />
          </Button>
          <Button variant="default" size="sm" aria-label={t`Remove ${name}`} onClick={() => setOpen('remove')}>
            <Icon name="trash" size={16} />
          </Button>
        </Group>
      </Group>
      <Dialog opened={open === 'rename'} title={t`Rename ${isolateName(name)}`} onClose={() => setOpen(null)}>
        <Rename passkey={passkey} onClose={() => setOpen(null)} />
      </Dialog>
      <ConfirmDialog
        opened={open === 'remove'}
        title={t`Remove ${isolateName(name)}?`}
        confirmLabel={t`Remove`}
        onClose={() => setOpen(null)}
        onConfirm={async () => {
          await unwrap(api.DELETE('/admin/v1/me/passkeys/{id}', { params: { path: { id } } }));
          await refetchPasskeys();
        }}
      >
        <Trans>You can't sign in with it anymore. Remove it from your device too.</Trans>
      </ConfirmDialog>
    </li>
  );
}

function Rename({ passkey, onClose }: { readonly passkey: Passkey; readonly onClose: () => void }) {
  const { t } = useLingui();
  const [name, setName] = useState(passkey.name);
  const save = useMutation({
    mutationFn: async () => {
      const params = { path: { id: passkey.id } };
      await unwrap(api.PATCH('/admin/v1/me/passkeys/{id}', { params, body: { name: name.trim() } }));
      await refetchPasskeys();
    },
    onSuccess: onClose,
  });
  return (
    <DialogForm
      submitLabel={t`Save`}
      error={save.error}
      checks={{ name: name.trim() === '' && t`Fill this in.` }}
      isPending={save.isPending}
      gap="md"
      onSubmit={() => save.mutate()}
      onCancel={onClose}
    >
      <FormText
        field="name"
        label={t`Name`}
        required
        withAsterisk={false}
        maxLength={200}
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
    </DialogForm>
  );
}
